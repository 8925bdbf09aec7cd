import type { Of } from "../../shared/commands.ts";
import type { CurveSoFar } from "../../shared/sensitivity.ts";
import type { Details } from "./details.ts";

/** The synced traits of `placelab.app.widgets.Gantt`; a Python test compares names and kinds with the Python class. */
export interface GanttTraits {
  /** The schedule as columns, see decode.ts and placelab/app/widgets/gantt_wire.py. */
  schedule: DataView;
  /** Op names, utf-8, joined by newlines; sent when the graph changes. */
  names: DataView;
  /** Colour index per op, uint8. */
  kinds: DataView;
  /** What each colour index stands for, for the legend. */
  kind_names: string[];
  /** Device names, and the host of each. */
  devices: string[];
  hosts: string[];
  /** Order, pinned, hidden and folded lanes, nothing at first; both ways. */
  lanes: LaneChoice;
  /** Memory in use over time, and where it is short; see memory.ts and placelab/app/widgets/gantt_wire.py. */
  memory: DataView;
  /** Whether lanes of memory are drawn; both ways, so that Python sends curves only when they are. */
  memory_shown: boolean;
  /** Selected op, -1 for none; both ways. */
  selection: number;
  /** Row of the idle gap that a click chose, which selects the op that its device waited for, -1 for none; set here. */
  gap: number;
  /** Row of the transfer that a click chose, which selects the op that made the tensor; a device by its name; set here. */
  transfer: number;
  lane: number;
  /** What was brushed: start and finish in seconds, then its devices; empty for nothing; set here. */
  area: number[];
  /** What the drawer says of what was clicked. */
  details: Details;
  /** Why no schedule is shorter than the proven bound, in order of time; empty while it is not known. */
  proof: Proof[];
  /** Whether there is a lane for it; both ways. */
  proof_shown: boolean;
  /** Whether the drawer is open; both ways. */
  drawer: boolean;
  /** What was chosen on a cluster canvas; empty for nothing. A click here ends that. */
  value: object;
  /** The makespan over it. */
  curve: CurveSoFar;
  /** Why the selected op is on its device and starts when it does; plain text from Python. */
  detail: string;
  /** The numbers strip. */
  numbers: NumberItem[];
  /** One sentence above the chart; empty for none. */
  warning: string;
  /** Whether what is shown is being recomputed. */
  stale: boolean;
  /** Height of the chart in CSS pixels; 0 lets the number of devices decide, -1 fills the element that the view is in. */
  height: number;
  /** A schedule to compare with, drawn behind; see kept.ts and placelab/app/widgets/gantt_wire.py. */
  kept: DataView;
  /** Whether the time axis stays as it is when the makespan changes; both ways. */
  keep_axis: boolean;
  /** Whether a hand drags what the schedule depends on; the axis does not shrink meanwhile. */
  dragging: boolean;
  /** What the colours of the ops mean, see colouring.ts; both ways. */
  colour_by: string;
  /** More ways to colour, which the graph of a job has. */
  colour_ways: string[];
  /** Colour index per op, uint8, for the ways to colour that only Python can work out, and their meanings. */
  colours: DataView;
  colour_names: string[];
  /** Whether lanes of links are drawn; both ways. */
  links_shown: boolean;
  /** Links that transfers between several pairs of devices share. */
  shared_links: SharedLink[];
  /** An op, and the transfers that bring its inputs, by row. */
  incoming: number[];
  /** What is drawn while a plan is made, uint8 per op, then per transfer; empty: everything. */
  decided: DataView;
  /** A line at a time, and what it says on the axis; empty for none. */
  mark: Partial<Mark>;
  /** Where and when an op might run: ghosts of bars. */
  candidates: Candidate[];
  /** Whether somebody hears of moves by hand. */
  can_hand: boolean;
  /** Whether bars can be moved by hand; both ways. */
  by_hand: boolean;
  /** Where an op is held: the newest; set here. */
  hold: Partial<Of<"hold">>;
  /** What Python says of it; empty for nothing. */
  hand: Partial<Hand>;
  /** Ops that wait to be placed one by one, those first that can be. */
  tray: Waiting[];
  /** How many more wait than are listed. */
  tray_more: number;
  /** Whether one says where an op is to run before it is shown; both ways. */
  predicts: boolean;
  /** Whether numbers and warning are shown elsewhere. */
  embedded: boolean;
  /** Whether times and sizes are plain numbers. */
  unitless: boolean;
}

/** What was chosen of the lanes, as it is synced; nothing chosen: by number, the busiest first where there are many devices. */
export interface LaneChoice {
  readonly order?: "number" | "busy";
  /** Whether lanes of devices that run nothing are left out. */
  readonly hides?: boolean;
  /** Devices whose lanes come first and do not scroll. */
  readonly pinned?: readonly number[];
  /** Hosts whose devices share one lane. */
  readonly folded?: readonly string[];
}

/** An op in the tray. */
export interface Waiting {
  readonly op: number;
  readonly name: string;
  /** Whether all its inputs are placed. */
  readonly ready: boolean;
  /** How long it takes, or what it waits for. */
  readonly said: string;
}

/** What Python says of an op in the hand, see `placelab.app.explorer.panels.hand_mode`. */
export interface Hand {
  readonly grip: number;
  readonly op: number;
  /** The ops that move: the held one, those that move with it, or the one that it changes places with. */
  readonly moving: readonly number[];
  /** Whether it comes from the tray, where nothing was before. */
  readonly fresh?: boolean;
  /** In a page, where such an op would run on each device. */
  readonly ghosts?: readonly Candidate[];
  /** Where it would run now; -1 for nowhere yet. */
  readonly device: number;
  /** When its inputs would be there, in seconds. */
  readonly ready: number;
  /** Of each device why it has no place for the op, or "". */
  readonly refused: readonly string[];
  /** Where it would stand, or what forbids another place, as `stopped` says. */
  readonly said: string;
  readonly stopped: boolean;
  /** The op that forbids it, and on which side of that: -1 up to its end, 1 from its start on, 0 where it stands; empty for none. */
  readonly barred: readonly number[];
  /** Whether it is a move that Python proposes; the schedule on show is without it. */
  readonly offer: boolean;
  /** Seconds, of the op with the move. */
  readonly start: number;
  readonly finish: number;
  /** Seconds, of the plan that it was taken from. */
  readonly makespan: number;
}

export interface Proof {
  kind: "compute" | "transfer" | "share" | "work";
  label: string;
  /** Seconds. */
  start: number;
  finish: number;
  op: number;
  /** All that it is about, as many as are marked. */
  ops?: number[];
  said: string;
}

export interface SharedLink {
  name: string;
  /** Source and destination, by number. */
  pairs: [number, number][];
}

export interface Mark {
  /** Seconds. */
  readonly time: number;
  readonly text: string;
}

export interface Candidate {
  device: number;
  start: number;
  finish: number;
}

export interface NumberItem {
  key: string;
  label: string;
  value: string;
  title?: string;
  tone?: "" | "good" | "warn" | "bad";
}
