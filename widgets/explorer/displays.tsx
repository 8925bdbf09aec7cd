/** What is only shown: what runs, an error, tables, numbers; what they say, `placelab.app.widgets.controls` has. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Of } from "../shared/commands.ts";
import type { FailedTraits, FiguresTraits, ParTraits, RunningTraits, TableTraits } from "./traits.ts";
import { type Given, useLook, useTraits } from "./use.ts";

const TICK = 500; // ms
const ENDED = ".jupyter-widgets-disconnected";

export function Running({ model }: Given<RunningTraits, Of<"stop">>) {
  const { title, said, seconds, share, stop, stopping, hidden } = useTraits(
    model,
    ...(["title", "said", "seconds", "share", "stop", "stopping", "hidden"] as const),
  );
  const [element, since] = useCounted(seconds, !hidden);
  const known = share >= 0;
  const percent = Math.round(100 * Math.max(share, 0));
  return (
    <div {...useLook(model, "pl-box pl-running")} ref={element}>
      <div class="pl-html">
        <div class="pl-content" role="status">
          <div>
            <b>{title}</b> is running · {Math.floor(since)} s
          </div>
          <div>{said}</div>
        </div>
      </div>
      <div
        class={`pl-progress ${known ? "" : "pl-unknown"}`}
        role="progressbar"
        aria-valuenow={known ? percent : undefined}
        aria-label="How far the search is"
      >
        <div style={{ width: `${percent}%` }} />
      </div>
      <button
        type="button"
        class="pl-button pl-stop"
        title="End the search and show the best so far"
        disabled={stopping}
        onClick={() => model.send({ kind: "stop" })}
      >
        {stop}
      </button>
    </div>
  );
}

/** Seconds that go on from those that have come last, also while the kernel is too busy to say more; not without a kernel. */
function useCounted(seconds: number, going: boolean) {
  const element = useRef<HTMLDivElement>(null);
  const arrived = useMemo(() => performance.now(), [seconds]);
  const [now, tick] = useState(arrived);
  useEffect(() => {
    if (!going) return;
    const timer = setInterval(() => element.current?.closest(ENDED) || tick(performance.now()), TICK);
    return () => clearInterval(timer);
  }, [going]);
  return [element, seconds + Math.max(now - arrived, 0) / 1000] as const;
}

export function Failed({ model }: Given<FailedTraits>) {
  const { failure } = useTraits(model, "failure");
  const { sentence, place, lines = [], traceback, cell } = failure;
  return (
    <div {...useLook(model, "pl-html")}>
      {sentence && (
        <div class="pl-content" role="alert">
          <b>{sentence}</b>
          {lines.length > 0 && <p class="pl-about">{place}</p>}
          {lines.length > 0 && (
            <ol class="pl-lines">
              {lines.map(([number, text, failing]) => (
                <li key={number} class={failing ? "pl-failing" : ""}>
                  <i>{number}</i>
                  <code>{text}</code>
                </li>
              ))}
            </ol>
          )}
          {cell && (
            <button type="button" class="pl-button pl-jump" title="Scroll to where it is defined">
              Jump to the cell
            </button>
          )}
          {traceback && (
            <details class="pl-traceback">
              <summary>Traceback</summary>
              <pre>{traceback}</pre>
            </details>
          )}
        </div>
      )}
    </div>
  );
}

export function Table({ model }: Given<TableTraits>) {
  const { head, rows, note } = useTraits(model, "head", "rows", "note");
  return (
    <div {...useLook(model, "pl-html")}>
      <div class="pl-content">
        {note && <p>{note}</p>}
        {rows.length > 0 && (
          <table>
            {head.length > 0 && (
              <thead>
                <tr>
                  {head.map((text) => (
                    <th key={text} scope="col">
                      {text}
                    </th>
                  ))}
                </tr>
              </thead>
            )}
            <tbody>
              {rows.map(({ cells: [name, ...cells], key, title, tone }, i) => (
                <tr key={i} class={tone} title={title} data-key={key}>
                  <th scope="row">{name}</th>
                  {cells.map((text, j) => (
                    <td key={j}>{text}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
    </div>
  );
}

export function Figures({ model }: Given<FiguresTraits>) {
  const { items } = useTraits(model, "items");
  return (
    <div {...useLook(model, "pl-html")}>
      <div class="pl-content">
        <ul>
          {items.map(({ key, label, value, title, tone }) => (
            <li key={key} class={tone} data-key={key} title={title}>
              <i>{label}</i> <b>{value}</b>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

const [LONG, HIGH, EDGE] = [118, 16, 6]; // px
const SAME = 1e-6; // of a makespan; what is closer differs by rounding

export function Par({ model }: Given<ParTraits>) {
  const { bound, best, shown, said } = useTraits(model, "bound", "best", "shown", "said");
  const least = Math.min(bound || best, best);
  const width = Math.max(shown, best) - least;
  const at = (time: number) => EDGE + (LONG - 2 * EDGE) * (width > 0 ? (time - least) / width : 0.5);
  const middle = HIGH / 2;
  const look = useLook(model, "pl-html pl-par");
  if (!(width > SAME * shown)) return null; // bound, best and shown are one: three marks would lie on each other
  const across = { y1: middle, y2: middle };
  return (
    <div {...look}>
      <svg role="img" aria-label={said} viewBox={`0 0 ${LONG} ${HIGH}`} width={LONG} height={HIGH}>
        <title>{said}</title>
        <line class="span" x1={at(least)} x2={at(best)} {...across} />
        <line class="over" x1={at(best)} x2={at(Math.max(shown, best))} {...across} />
        <line class="proven" x1={at(least)} x2={at(least)} y1={middle - 5} y2={middle + 5} />
        <circle class="known" cx={at(best)} cy={middle} r={3.5} />
        <path class="shown" d={`M${at(shown) - 4} 1h8l-4 6z`} />
      </svg>
    </div>
  );
}
