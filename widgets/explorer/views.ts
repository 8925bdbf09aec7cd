/** The views that have a module of their own, by the name of their class in Python; alone in a cell each is a widget. */

import cluster from "../cluster/index.ts";
import code from "../code/index.ts";
import comparison from "../comparison/index.ts";
import decisions from "../decisions/index.ts";
import difference from "../difference/index.ts";
import files from "../files/index.ts";
import frame from "../frame/index.ts";
import gantt from "../gantt/index.ts";
import graph from "../graph/index.ts";
import job from "../job/index.ts";
import layers from "../layers/index.ts";
import matters from "../matters/index.ts";
import palette from "../palette/index.ts";
import plans from "../plans/index.ts";
import type { Part } from "./part.ts";
import { withRest } from "./rest.ts";

interface View {
  render(given: { model: Part<never>; el: HTMLElement }): unknown;
}

export const VIEWS: Record<string, View> = {
  ClusterCanvas: withRest(cluster),
  CodeButton: code,
  CommandPalette: palette,
  ComparisonTable: comparison,
  Decisions: decisions,
  DifferenceTable: difference,
  Files: files,
  Frame: frame,
  Gantt: gantt,
  LayerStrip: layers,
  ModelGraph: graph,
  PlanBoard: plans,
  TrainingChart: job,
  WhatMattersTable: matters,
};
