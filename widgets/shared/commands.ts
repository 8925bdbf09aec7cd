/**
 * The commands: all that the page asks of Python, beside the traits that it sets. placelab/app/widgets/commands.py has the same
 * table, by which Python checks what comes; tests/app/test_command_table.py compares the two.
 *
 * Each that is sent counts. Those of a drag, of which the newest counts, are values of a trait instead: `edit`, `hold` and `asked`.
 */

export type Pair = readonly [number, number];
export type View = "auto" | "graph" | "grid";
export type Way = "up" | "down" | "left" | "right";
export type Change = { value: number | null } | { factor: number };

/** What a hand holds in the chart, and where; of an exchange, the place that is pointed at. */
export interface Hold {
  /** Number of the grip. */
  readonly grip: number;
  readonly op: number;
  /** Ops that move together, the held one included; absent for it alone. */
  readonly ops?: readonly number[];
  /** Absent together with the time where it has no place yet, or the one where it is. */
  readonly device?: number;
  /** Seconds, of the op's start. */
  readonly time?: number;
  /** Whether it changes places with the op there. */
  readonly swap?: boolean;
}

/** What is done with what a hand holds, or looked for in its place. */
export type HandCommand =
  | ({ kind: "hold" } & Hold)
  | ({ kind: "set" } & Hold)
  | { kind: "step"; grip: number; op: number; ops?: readonly number[]; way: Way; swap?: boolean }
  | { kind: "return"; grip: number; op: number; ops?: readonly number[] }
  | { kind: "best"; grip: number }
  | { kind: "finish"; grip: number }
  | { kind: "empty"; grip: number };

/** An edit of the cluster; placelab/app/widgets/cluster_edit.py says what each does. */
export type Edit =
  | { kind: "speed"; device: number; value: number }
  | { kind: "memory"; device: number; value: number | null }
  | ({ kind: "bandwidth"; pairs: Pair[] } & Change)
  | ({ kind: "latency"; pairs: Pair[] } & Change)
  | ({ kind: "shared"; link: string } & Change)
  | { kind: "move"; device: number; slot: number }
  | { kind: "host"; device: number; host: string | null; slot?: number }
  | { kind: "add"; host: string | null }
  | { kind: "copy"; device: number }
  | { kind: "remove"; device: number }
  | { kind: "rename"; device: number; name: string }
  | { kind: "rename_host"; host: string; name: string }
  | { kind: "view"; view: View }
  | { kind: "release" }
  | { kind: "undo" }
  | { kind: "redo" };

/** What the canvas says of an edit: its number, the drag that it belongs to, and whether it is the last one of that. */
export interface Drag {
  seq?: number;
  gesture?: number;
  final?: boolean;
}

export type Command =
  | { kind: "click" }
  | { kind: "submit" } // Enter in a field
  | { kind: "stop" } // what runs
  | { kind: "stale" } // the notebook holds an earlier picture
  | { kind: "choose"; offer: number; typed: string } // what is offered for a text
  | { kind: "piece"; id: string; name: string; size: number; at: number; data?: ArrayBuffer } // of a file, from `at` on; data go as the message's buffer
  | { kind: "refuse"; id: string; name: string; size: number; why: string } // a file that has no pieces
  | { kind: "beside" } // the decisions of the kept strategy
  | { kind: "pin"; node: number; device: number }
  | { kind: "unpin"; node: number }
  | { kind: "reveal"; node: number } // opens the scopes around it
  | { kind: "show"; partitioner: string; scheduler: string }
  | { kind: "against"; partitioner: string; scheduler: string } // a problem on which the pair shown loses to this one
  | { kind: "search"; partitioner?: string } // all where none is named
  | { kind: "halt"; partitioner?: string }
  | { kind: "compare" }
  | { kind: "plan"; row: number } // shows the plan of a row …
  | { kind: "keep"; row: number } // … or keeps it to compare with
  | { kind: "remedy"; remedy: number }
  | { kind: "border"; border: number; to: number; drag: number } // `drag` grows from one movement of a hand to the next
  | { kind: "split"; objective: string; drag: number } // the best one
  | HandCommand
  | (Edit & Drag);

export type Of<K extends Command["kind"]> = Extract<Command, { kind: K }>;
