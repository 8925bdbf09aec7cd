"""What newcomers type that is the name of nothing: commands in everyday words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from placelab.app.explorer.panels.commands import Command
from placelab.app.explorer.panels.panel import Shared
from placelab.app.explorer.session import Session
from placelab.app.explorer.state import State
from placelab.app.widgets.cluster_edit import apply
from placelab.app.widgets.gantt_chart import Gantt

# What tabs are for, in other words than their titles.
TABS: Mapping[str, str] = {
    "Comparison": "best fastest which strategy algorithm partitioner scheduler compare all pairs table",
    "Graph": "model network structure layers ops",
    "Decisions": "steps trace learn teach how algorithm works work",
    "What matters": "bottleneck which link device op first slow slowest longest biggest make it faster improve what if speed up "
    "where go upgrade",
    "Difference": "versus against changed kept",
    "Job": "training pipeline data tensor parallel parallelism batch replicas parameter servers all-reduce distributed workers "
    "checkpoint failures",
    "Layers": "llm decoder transformer split launch megatron vllm",
}
FACTORS = (
    ("speed", 2.0, "faster devices", "All devices compute twice as fast", "gpus gpu speed double flops upgrade"),
    ("speed", 0.5, "slower devices", "All devices compute half as fast", "gpus gpu speed half flops"),
    ("memory", 2.0, "more memory", "All devices have twice the memory", "ram vram bigger double gpus out oom"),
    ("memory", 0.5, "less memory", "All devices have half the memory", "ram vram smaller half gpus"),
    ("bandwidth", 2.0, "faster network", "All links carry twice as much", "links bus bandwidth double"),
    ("bandwidth", 0.5, "slower network", "All links carry half as much", "slow links bus bandwidth half"),
)

EXAMPLES = {"speed": "10 TFLOP/s", "memory": "8 GB", "bandwidth": "12 GB/s"}  # of a value

# What the page does by itself: phrase, what it does, the button or field, more words.
BUTTONS = (
    ("play", "Run the schedule over time", "[aria-label='Play']", "animate animation start run watch"),
    ("pause", "Stop playing", "[aria-label='Pause']", "stop halt"),
    ("zoom in", "See a shorter span of time", "[aria-label='Zoom in']", "larger bigger magnify"),
    ("zoom out", "See a longer span of time", "[aria-label='Zoom out']", "smaller wider"),
    ("fit", "See the whole schedule", "[aria-label='Fit the whole schedule']", "zoom whole all everything"),
    ("table", "The chart as a table of ops", "[aria-label='Show as a table']", "list rows ops"),
    ("find ops", "Type a part of an op's name", ".pl-gantt .find", "search look filter"),
    (
        "help",
        "What keys and pointer do, in all views",
        ".pl-gantt [aria-label='Keys']",
        "keyboard shortcuts keys mouse gestures manual how",
    ),
    ("legend", "What colours and textures mean", ".pl-gantt .more", "colours explanation meaning"),
    (
        "full screen",
        "The explorer alone on the screen; Escape leads back",
        ".pl-frame [title='Full screen']",
        "fullscreen maximise maximize big",
    ),
    (
        "present",
        "Larger type, and nothing but the views",
        ".pl-frame [title^='Present']",
        "presentation slides lecture talk projector beamer",
    ),
    (
        "code",
        "Copy a Python cell that makes again exactly what is shown",
        ".pl-code > button",
        "python script reproduce copy notebook cell export",
    ),
    (
        "settings",
        "Costs, seed, what is done to the graph before it is placed",
        ".pl-opens[title^='Prepare the graph']",
        "preferences options configure configuration costs seldom more",
    ),
)
# What has no command: phrase, the short answer, the whole one, more words.
ANSWERS = (
    (
        "pin an op",
        "Drag it in the tab Graph onto a device, or press p on it",
        "In the tab Graph drag an op or a scope onto a device, or press p on it. Here, type “pin conv1 to gpu:1”.",
        "pins ops tie fix lock constrain force hold assign colocate device scope",
    ),
    (
        "cheaper cluster",
        "Click a value of the cluster: how low may it be?",
        "Click a speed, a memory or a link's value in the cluster: the curve above it says how low it may be before the makespan "
        "grows. To try the cluster without a device, remove it; the note says what that costs, and undo leads back.",
        "cheap less cost costs price budget money save spend buy",
    ),
    (
        "dark mode",
        "As the page has it: JupyterLab's is under Settings, Theme",
        "The explorer has the colours of its page: in JupyterLab choose Settings, Theme; placelab explore follows the system.",
        "light theme colours appearance night black white",
    ),
    (
        "rename a device",
        "Double-click its name in the cluster, or a host's",
        "Double-click the name of a device or a host in the cluster, or press F2 on it, type, and press Enter.",
        "name host label call",
    ),
)


def everyday(shared: Shared, session: Session, gantt: Gantt, open_files: Callable[[], None]) -> Iterator[Command]:
    """Commands in everyday words."""
    change = shared.change
    yield Command(
        "open file", "A model of your own, by path or upload", "file", open_files, "load upload my model onnx import"
    )
    for phrase, says, press, words in BUTTONS:
        yield Command(phrase, says, "view", lambda: None, words, press)
    for phrase, short, answer, words in ANSWERS:
        yield Command(phrase, short, "answer", partial(shared.say, answer, "note"), words)
    back = lambda: change(lambda state: (*session.steps.past, state)[0])  # noqa: E731
    yield Command(
        "start over", "The state that the explorer opened on; undo leads back", "edit", back, "reset restart clear"
    )
    more, less, apart = (partial(change, partial(_edited, kind=kind)) for kind in ("copy", "remove", "add"))
    yield Command("add a device", "One like the last", "edit", more, "gpus gpu more many another new")
    yield Command(
        "add a host", "A device like the last on a host of its own", "edit", apart, "machine server node new another"
    )
    yield Command("remove a device", "The last one", "edit", less, "gpus gpu less fewer delete")
    for column, factor, phrase, says, words in FACTORS:
        yield Command(phrase, says, "edit", partial(change, partial(_scaled, shared, column, factor)), words)
    free = lambda: change(lambda s: replace(s, pins=()))  # noqa: E731
    yield Command(
        "unpin everything",
        "No op is tied to a device any more",
        "edit",
        free,
        "free pins pinned release op ops unlock untie",
    )
    seed = lambda: change(lambda s: replace(s, seed=s.seed + 1))  # noqa: E731
    yield Command("next seed", "Other choices of strategies that draw lots", "edit", seed, "random another try again")
    for trait, phrase, says, words in (
        ("memory_shown", "show memory", "Memory in use of each device over time", "lanes usage ram peak oom"),
        ("links_shown", "show links", "Use of each link over time", "lanes network traffic bandwidth communication"),
        ("proof_shown", "why not faster", "What no schedule can avoid", "lower bound optimal how good proof limit"),
        ("drawer", "explain", "Facts, why here, why then of what is selected", "why details selected"),
        ("by_hand", "by hand", "Move bars yourself", "manual drag move myself edit"),
    ):
        yield Command(phrase, says, "view", partial(gantt.set_trait, trait, True), words)
    for way in ("critical path", "slack", "device", "kind"):
        act = partial(gantt.set_trait, "colour_by", way)
        yield Command(f"colour by {way}", "What the colours of the bars mean", "view", act, "color show highlight")


def _scaled(shared: Shared, column: str, factor: float, state: State) -> State:
    """The state with so many times the column of its cluster; where that is unlimited, it stays, and a message says why."""
    cluster = state.cluster
    values = getattr(cluster, column)
    apart = ~np.eye(len(values), dtype=bool) if values.ndim == 2 else np.ones(len(values), dtype=bool)
    if apart.any() and np.isinf(values[apart]).all():
        example = f"{column} {EXAMPLES[column]}"
        shared.say(f"The {column} of the cluster is unlimited; give it a value first, as in “{example}”.", "note")
        return state
    return state.with_cluster(cluster.replace(**{column: getattr(cluster, column) * factor}), state.layout)


def _edited(state: State, kind: str) -> State:
    """The state after an edit of the last device."""
    edit: dict[str, Any] = {"kind": kind, "device": state.cluster.n_devices - 1, "host": None}
    return state.with_cluster(*apply(state.cluster, state.layout, edit))
