import type { CurveSoFar } from "../shared/sensitivity.ts";

/** Name and kind of a part: a control that the page draws from its traits, or a view with a module of its own. */
export type Reference = readonly [name: string, kind: string];

/** The synced traits of `placelab.app.explorer.application.Explorer` itself; those of its parts are named `part.trait`. */
export interface ExplorerTraits {
  /** The outermost parts. */
  root: Reference[];
  /** Pairs of traits, of which the second follows the first. */
  links: [string, string][];
  /** How often the page shows the explorer now; the page sets it. */
  views: number;
  /** In CSS pixels; 0: what the window leaves. */
  height: number;
  /** A style sheet that hides the saved picture. */
  hiding: string;
  /** Key of the newest state, see ../shared/current.ts. */
  now: string;
  /** How often a user has asked for the hints, which a browser shows once by itself. */
  hints: number;
}

/** What every part has, views, too: `placelab.app.widgets.whole.Part`. */
export interface PartTraits {
  /** Key of the state whose result it shows, see ../shared/current.ts. */
  result_of: string;
}

/** What every control has: `placelab.app.widgets.controls.Control`. */
export interface ControlTraits extends PartTraits {
  hidden: boolean;
  classes: string[];
  tooltip: string;
  width: string;
}

export interface HTMLTraits extends ControlTraits {
  /** Text with markup, in which the kernel has escaped what strangers wrote. */
  value: string;
}

export interface ButtonTraits extends ControlTraits {
  description: string;
  disabled: boolean;
}

export interface ToggleButtonTraits extends ControlTraits {
  value: boolean;
  description: string;
}

export interface CheckboxTraits extends ControlTraits {
  value: boolean;
  description: string;
}

export interface SelectionTraits extends ControlTraits {
  description: string;
  labels: string[];
  index: number;
}

export interface DropdownTraits extends SelectionTraits {
  /** Labels that cannot be chosen, and why. */
  missing: Record<string, string>;
}

export interface TextTraits extends ControlTraits {
  value: string;
  description: string;
  placeholder: string;
}

export interface ComboboxTraits extends TextTraits {
  options: string[];
}

export interface IntTextTraits extends ControlTraits {
  value: number;
  description: string;
}

export interface BoundedIntTextTraits extends IntTextTraits {
  min: number;
  max: number;
}

export interface FloatTextTraits extends ControlTraits {
  value: number;
  description: string;
}

export interface IntSliderTraits extends ControlTraits {
  value: number;
  min: number;
  max: number;
  step: number;
  description: string;
  /** Whether the number stands beside it … */
  readout: boolean;
  /** … and is a field. */
  typed: boolean;
}

export interface FloatSliderTraits extends ControlTraits {
  value: number;
  min: number;
  max: number;
  step: number;
  description: string;
  readout: boolean;
  typed: boolean;
  /** Whether `min` itself is not allowed. */
  above: boolean;
}

export interface SensitivityTraits extends ControlTraits {
  curve: CurveSoFar;
  label: string;
  unitless: boolean;
}

export interface RunningTraits extends ControlTraits {
  title: string;
  said: string;
  /** That it had taken when this was sent. */
  seconds: number;
  /** From 0 to 1; less than 0 where nobody knows. */
  share: number;
  /** What the button says. */
  stop: string;
  stopping: boolean;
}

/** An error, its line and those around it, each a number, a text, and whether it failed. */
export interface Failure {
  sentence?: string;
  place?: string;
  lines?: [number, string, boolean][];
  traceback?: string;
  /** Whether it is in a cell. */
  cell?: boolean;
}

export interface FailedTraits extends ControlTraits {
  /** Empty for none. */
  failure: Failure;
}

export interface TableRow {
  /** The first names the row. */
  cells: string[];
  key?: string;
  title?: string;
  tone?: string;
}

export interface TableTraits extends ControlTraits {
  head: string[];
  rows: TableRow[];
  /** In place of the rows. */
  note: string;
}

export interface FigureItem {
  key: string;
  label: string;
  value: string;
  title: string;
  tone: string;
}

export interface FiguresTraits extends ControlTraits {
  items: FigureItem[];
}

export interface ParTraits extends ControlTraits {
  bound: number;
  best: number;
  shown: number;
  said: string;
}

export interface BoxTraits extends ControlTraits {
  children: Reference[];
}

export interface StackTraits extends BoxTraits {
  /** Of the child that is seen. */
  selected_index: number;
}
