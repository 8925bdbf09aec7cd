/** The current decision, or the current rank, in full. */
import { h, listen } from "../shared/dom.ts";
import { tail } from "../shared/tail.ts";
import { type CandidatesView, candidates } from "./candidates.ts";
import type { Decision, DecisionRow, RankRow } from "./page.ts";
import { amount, equation, sums } from "./sums.ts";
import type { About } from "./traits.ts";

export interface DecisionState extends Omit<CandidatesView, "unit"> {
  readonly about: About;
  /** Rows of the first differences, see traits.ts. */
  readonly differs: readonly number[];
  /** Whether there is a strategy to compare with. */
  readonly compared: boolean;
}

/** One or two columns: the decision, and what the other strategy decides about the same op. */
export function decisionDetail(row: DecisionRow, state: DecisionState, go: (row: number) => void): HTMLElement[] {
  const { about, hidden, guessed } = state;
  const rank = Number.isNaN(row.rank) ? "" : `· ${about.rank} ${amount(row.rank, about.rank_unit ?? "")}`;
  const said = hidden
    ? `Where does ${row.name} go? Click a device or press its number.`
    : guessed < 0
      ? row.why
      : `${verdict(row, guessed, state.devices)} ${row.why}`;
  const own = column(about.strategy ?? "", row, row.name, rank, said, state);
  if (!state.compared) return [own];
  if (hidden)
    return [own, h("section", {}, h("h3", {}, about.against ?? ""), h("p.why", {}, "Shown after your prediction."))];
  return [own, otherColumn(row, state, go)];
}

/** "Right.", or what was right instead; a device of equal score is as good. */
export function verdict(decision: Decision, guessed: number, devices: readonly string[]): string {
  if (guessed === decision.device) return "Right.";
  if (isRight(decision, guessed)) return `As good: ${devices[guessed]} has the same score.`;
  return `No, not ${devices[guessed]}.`;
}

export function isRight(decision: Decision, guessed: number): boolean {
  return guessed === decision.device || decision.score[guessed] === decision.score[decision.device];
}

/** The rank of one op: the sum, and the successors that compete. */
export function rankDetail(row: RankRow, about: About, go: (op: number) => void): HTMLElement[] {
  const unit = about.sums_unit ?? "";
  return [
    h(
      "section",
      {},
      h(
        "h3",
        { title: row.name },
        h("span", {}, tail("b", row.name), h("span.extra", {}, `· ${about.sums} ${amount(row.rank, unit)}`)),
      ),
      h("p.why", { role: "status" }, equation(row, unit)),
      sums(row, unit, go),
    ),
  ];
}

function column(
  strategy: string,
  decision: Decision,
  name: string,
  extra: string,
  said: string,
  state: DecisionState,
): HTMLElement {
  const unit = state.about.score_unit ?? "";
  return h(
    "section",
    { "aria-label": strategy },
    h(
      "h3",
      { title: `${name} ${extra}` },
      h("span", {}, h("small", {}, `${strategy} ${decision.row + 1}: `), tail("b", name), h("span.extra", {}, extra)),
      h("small", {}, state.hidden ? "" : (state.about.score ?? "")),
    ),
    h("p.why", { role: "status" }, said),
    candidates(decision, { ...state, unit }),
  );
}

function otherColumn(row: DecisionRow, state: DecisionState, go: (row: number) => void): HTMLElement {
  const { about, differs } = state;
  const name = about.against ?? "";
  const jump = (to: number, text: string, title: string) => {
    const button = h("button.jump", { type: "button", title, disabled: to < 0 }, text);
    listen(button, "click", () => go(to));
    return button;
  };
  const jumps = h(
    "div.jumps",
    {},
    jump(
      differs[0]!,
      "first difference",
      differs[0]! < 0 ? "The two decide alike throughout" : `Step ${differs[0]! + 1}: a different op or device (d)`,
    ),
    jump(
      differs[1]!,
      "first other device",
      differs[1]! < 0
        ? "Every op is on the same device"
        : `Step ${differs[1]! + 1}: an op that ${name} puts elsewhere (D)`,
    ),
  );
  const here = row.otherHere ? `Its step ${row.row + 1} is ${row.otherHere}.` : `It has no step ${row.row + 1}.`;
  if (!row.other)
    return h(
      "section",
      { "aria-label": name },
      h("h3", {}, name),
      jumps,
      h("p.why", {}, `No decision about ${row.name}. ${here}`),
    );
  const same = row.other.device === row.device;
  const said = `${same ? "Same device." : "A different device."} ${row.other.why} ${row.other.row === row.row ? "" : here}`;
  const made = column(name, row.other, row.name, "", said, {
    ...state,
    guessed: -1,
    about: { ...about, score: about.against_score, score_unit: about.against_score_unit },
    times: about.against_times ?? "",
  });
  made.dataset.same = String(same);
  made.querySelector("h3")!.after(jumps);
  return made;
}
