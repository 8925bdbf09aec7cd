"""Export a schedule as a page, a trace or tables, a placement for its framework, a graph as a file, layers for a launcher.

Every function writes one file, whole or not at all, and returns its path. Those of a split of layers return the text, and
write it where there is a path.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html as markup
import json
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from placelab.analysis.hand_plans import alone
from placelab.app.widgets.gantt_chart import Gantt, gantt_traits
from placelab.app.widgets.live_page import live_traits, why_not
from placelab.base.directions import all_isolated
from placelab.base.errors import FormatError, expect
from placelab.base.files import path_for, save
from placelab.formats.exports import chrome_trace, csv, graph, placement, tensorflow, torch_device_map, torch_schedule
from placelab.plans.launchers import accelerate, llama_cpp, megatron_layout, torch_split_points, vllm_partition
from placelab.schedule.catalogue import PLANNED, checked
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate

__all__ = [
    "accelerate",
    "chrome_trace",
    "csv",
    "graph",
    "html",
    "llama_cpp",
    "megatron_layout",
    "placement",
    "tensorflow",
    "torch_device_map",
    "torch_schedule",
    "torch_split_points",
    "vllm_partition",
]

LARGE = (
    4_000_000  # bytes of a schedule above which zlib's best level takes five times as long as the usual, for 1 % less
)
# Most of a page that recomputes without being asked to.
LIVE_OPS = 20_000
LIVE_BYTES = 600_000
_LIVE = Path(__file__).parent / "widgets" / "static" / "live.js"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style nonce="{nonce}">:root {{ color-scheme: light dark }} body {{ margin: 16px; font: 13px system-ui, sans-serif;
background: Canvas; color: CanvasText }}
h1 {{ font-size: 18px; font-weight: 600; margin: 0 0 12px }}</style>
</head>
<body class="{kind}">
<h1>{title}</h1>
{still}<script type="text/plain" id="placelab-schedule">{payload}</script>
<script type="text/plain" id="placelab-code">{code}</script>
<script type="module" nonce="{nonce}">{unpack}</script>
</body>
</html>
"""
_UNPACK = """const packed = document.getElementById("placelab-code").textContent;
const bytes = new Blob([Uint8Array.from(atob(packed), (c) => c.charCodeAt(0))]);
const code = await new Response(bytes.stream().pipeThrough(new DecompressionStream("gzip"))).text();
document.body.append(Object.assign(document.createElement("script"), { type: "module", textContent: code }));
"""  # the script that it adds is one whose hash the page's policy names


@checked
def html(
    schedule: Schedule,
    path: str | Path,
    *,
    numbers: Iterable[Mapping[str, str]] = (),
    title: str = "",
    live: bool | None = None,
) -> Path:
    """Write a page that shows and plays a schedule in any browser, without a kernel and without a network.

    Parameters
    ----------
    path
        File to write.
    numbers
        Figures above the chart: ``key, label, value`` and, optionally, ``title`` and ``tone`` ("", good, warn, bad).
    title
        Title and heading of the page; by default the model, the strategies and the number of devices.
    live
        Whether the page recomputes: speeds, memories, bandwidths and latencies are dragged in a drawing of the cluster (on a
        phone by sliders), menus change the strategies and the transfer model, ops are moved by hand, and chart and makespan
        follow, to the last bit as :func:`placelab.place`, :func:`placelab.by_hand` and :func:`placelab.simulate` have them.
        A lower bound says how far above the optimum the makespan may be, equal to :func:`placelab.bounds`; during a drag a curve
        has the makespan over the value. Each state has an address, so that a link shows what was found. By default the page
        does so where it can, for up to 20,000 ops and 600 KB. Where it cannot, it says why, and plays; with False it plays.

    Returns
    -------
    Path
        The file.

    Notes
    -----
    The page may fetch nothing and run nothing but its own code, whose hashes its content security policy names; a short script
    unpacks it. Op names are data in a base64 block and reach the page as text only. About 0.5 MB for 20,000 ops.

    What a page can recompute: the partitioners ``single``, ``heft``, ``peft``, ``cpop``, ``min-min``, ``tf-greedy``, ``etf``
    and ``m-etf``, where all ops may run everywhere, else ops stay where they are, as with any other partitioner; the schedulers
    ``fifo``, ``pct``, ``msr`` and ``planned`` (not with ``single``, which has no plan), all with their default options; all
    transfer models, without Send ops; all memory models, within which it plans as these partitioners do. Where one finds no
    plan within memory, or contention makes its run short of it, the page says so in one sentence; the library looks for others.
    An idle device whose next op waits for room in memory counts as "left waiting".
    """
    expect(schedule, Schedule, "export.html")
    path = path_for(path, "a page", "HTML", ".html", ".htm")  # before the page is made
    return save(page(schedule, numbers, title, live), path)


def page(
    schedule: Schedule,
    numbers: Iterable[Mapping[str, str]] = (),
    title: str = "",
    live: bool | None = False,
    puzzle: dict[str, Any] | None = None,
    waiting: Sequence[int] = (),
) -> str:
    """The text of the page that :func:`html` writes; `puzzle` asks for a plan by hand.

    `waiting` ops are in the tray of a page that recomputes; one that plays shows the part of the plan without them.
    """
    figures = _figures(numbers)
    still = "" if live is False or not (why := why_not(schedule)) else f"cannot recompute it: {why}"
    n = schedule.problem.graph.n_ops
    if live is None and not still and n > LIVE_OPS:
        still = _unasked(f"it has {n:,} ops", f"{LIVE_OPS:,}")
    more = live_traits(schedule, puzzle, waiting) if live is not False and not still else {}
    traits = {**gantt_traits(schedule), **more} if more else _played(schedule, waiting)
    text = _page(schedule, figures, title, still, traits)
    if live is None and not still and len(text) > LIVE_BYTES:
        still = _unasked(f"it would have {len(text) // 1000} kB", str(LIVE_BYTES // 1000))
        text = _page(schedule, figures, title, still, _played(schedule, waiting))
    return text


def without(schedule: Schedule, waiting: Sequence[int]) -> tuple[Schedule, np.ndarray]:
    """A schedule of a plan by hand without some ops, which wait to be placed; and which ops are placed, shape (n_ops,)."""
    placed = np.ones(schedule.problem.graph.n_ops, bool)
    placed[list(waiting)] = False
    if not len(waiting):
        return schedule, placed
    part = alone(schedule.placement, placed)
    return simulate(part.problem, part, PLANNED), placed


def _played(schedule: Schedule, waiting: Sequence[int]) -> dict[str, Any]:
    """The traits of a page that plays: what is placed is drawn."""
    part, placed = without(schedule, waiting)
    drawn = np.concatenate([placed, np.ones(len(part.transfers), bool)]).astype(np.uint8)
    return gantt_traits(part) | (dict(decided=drawn.tobytes()) if len(waiting) else {})


def _unasked(what: str, most: str) -> str:
    """Why a page does not recompute that could."""
    return f"does not recompute it, as {what}, above {most}; live=True writes a page that does"


def _page(schedule: Schedule, figures: list[dict[str, str]], title: str, still: str, traits: Mapping[str, Any]) -> str:
    """A page that recomputes where it has traits for that; `still` says why it does not."""
    recomputes = "live" in traits
    code = _LIVE.read_text(encoding="utf-8") if recomputes else str(Gantt._esm)
    payload = _payload({"numbers": figures, **traits})
    nonce = _digest(payload)[:24]
    title = markup.escape(str(title) or _title(schedule, recomputes))
    said = f"<p>This page plays a saved schedule and {markup.escape(still)}.</p>\n" if still else ""
    return _PAGE.format(
        policy=_policy((_UNPACK, code), nonce),
        nonce=nonce,
        kind="live" if recomputes else "plays",
        title=title,
        still=said,
        payload=payload,
        code=_packed(code.encode()),
        unpack=_UNPACK,
    )


def _figures(numbers: Any) -> list[dict[str, str]]:
    """The figures above the chart as the page reads them; FormatError when they are none."""
    if not isinstance(numbers, Iterable) or isinstance(numbers, (str, bytes, Mapping)):
        raise FormatError(f"numbers is {numbers!r:.80}; expected a list of figures, each with key, label and value")
    figures = list(numbers)
    plain = (str, int, float, type(None))
    for figure in figures:
        if not isinstance(figure, Mapping) or not all(
            isinstance(k, str) and isinstance(v, plain) for k, v in figure.items()
        ):
            raise FormatError(f"numbers holds {figure!r:.80}; expected a figure: texts by key, label and value")
    return [dict(figure) for figure in figures]


def _title(schedule: Schedule, recomputes: bool) -> str:
    """What the page shows; where strategies can be changed, they are not part of it."""
    problem = schedule.problem
    if recomputes:
        return f"{problem.graph.title} · {problem.cluster.n_devices} devices"
    by = schedule.placement.partitioner or "placed by hand"
    return f"{problem.graph.title} · {by} + {schedule.scheduler or 'given times'} · {problem.cluster.n_devices} devices"


def _policy(codes: Iterable[str], nonce: str) -> str:
    hashes = " ".join(f"'sha256-{_digest(code)}'" for code in codes)
    sources = f"script-src {hashes}; worker-src blob:; style-src 'nonce-{nonce}'"  # a worker runs the page's own code
    return f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _payload(traits: Mapping[str, Any]) -> str:
    """What ``widgets/gantt/player.ts`` unpacks: base64 of gzip of the header's length, header, and binary traits."""
    plain = {name: trait.default() for name, trait in Gantt.class_own_traits(sync=True).items()} | dict(traits)
    plain["names"] = _counted(plain["names"])
    binary = {name: value for name, value in plain.items() if isinstance(value, bytes)}
    header = {
        "traits": {name: all_isolated(value) for name, value in plain.items() if name not in binary},
        "buffers": [[name, len(value)] for name, value in binary.items()],
    }
    head = json.dumps(header).encode()
    return _packed(struct.pack("<I", len(head)) + head + b"".join(binary.values()))


def _counted(names: bytes) -> bytes:
    """Lines of names; an empty one stands for that before with its last number one up, as ``widgets/shared/packed.ts`` reads."""
    lines = names.decode().split("\n")
    follows = [False, *(bool(before) and _following(before) == name for before, name in pairwise(lines))]
    return "\n".join("" if same else name for same, name in zip(follows, lines, strict=True)).encode()


def _following(name: str) -> str:
    found = re.fullmatch(r"(.*?)([0-9]{1,15})([^0-9]*)", name, re.DOTALL)
    return f"{found[1]}{int(found[2]) + 1}{found[3]}" if found else ""


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 6 if len(data) > LARGE else 9, mtime=0)).decode()


def __dir__() -> list[str]:
    return list(__all__)
