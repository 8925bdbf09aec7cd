"""Python and TypeScript declare the same traits: a misspelt one would be sent and silently ignored."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import traitlets

from placelab.app.explorer import Explorer
from placelab.app.widgets import controls
from placelab.app.widgets.cluster_canvas import ClusterCanvas
from placelab.app.widgets.decisions import Decisions
from placelab.app.widgets.frame import CodeButton, CommandPalette, Files, Frame
from placelab.app.widgets.gantt_chart import Gantt
from placelab.app.widgets.graph_view import ModelGraph
from placelab.app.widgets.tab_views import (
    ComparisonTable,
    DifferenceTable,
    LayerStrip,
    PlanBoard,
    TrainingChart,
    WhatMattersTable,
)
from placelab.app.widgets.whole import Whole

SOURCES = Path(__file__).parents[2] / "widgets"
WIDGETS = [
    (Gantt, "gantt", "GanttTraits"),
    (ClusterCanvas, "cluster", "ClusterTraits"),
    (CodeButton, "code", "CodeTraits"),
    (CommandPalette, "palette", "PaletteTraits"),
    (Files, "files", "FilesTraits"),
    (Frame, "frame", "FrameTraits"),
    (Decisions, "decisions", "DecisionsTraits"),
    (ComparisonTable, "comparison", "ComparisonTraits"),
    (WhatMattersTable, "matters", "MattersTraits"),
    (ModelGraph, "graph", "GraphTraits"),
    (DifferenceTable, "difference", "DifferenceTraits"),
    (TrainingChart, "job", "JobTraits"),
    (LayerStrip, "layers", "LayersTraits"),
    (PlanBoard, "plans", "PlansTraits"),
]
CONTROLS = {  # what the page draws
    name: made
    for name, made in vars(controls).items()
    if isinstance(made, type)
    and issubclass(made, controls.Control)
    and made not in (controls.Control, controls.Selection, controls.Box)
}
KINDS = {  # what a trait's value is in the browser
    traitlets.Bytes: "DataView",
    traitlets.Unicode: "string",
    traitlets.Bool: "boolean",
    traitlets.Int: "number",
    traitlets.Enum: "string",
    traitlets.Float: "number",
    traitlets.CFloat: "number",
    traitlets.CInt: "number",
    traitlets.List: "array",
    traitlets.Dict: "object",
}


def typescript_traits(view: str, interface: str) -> dict[str, str]:
    """Name and kind of each property of an interface in a view's traits.ts."""
    source = next((SOURCES / view).rglob("traits.ts")).read_text()
    source = re.sub(r"/\*.*?\*/|//[^\n]*", "", source, flags=re.DOTALL)
    body = re.search(rf"interface {interface} (?:extends \w+ )?\{{(.*?)\n\}}", source, re.DOTALL)[1]
    return {name: kind(written) for name, written in re.findall(r"(\w+)\??:\s*(.*?);", body)}


def kind(written: str) -> str:
    if written.endswith("[]") or written.startswith(("Array<", "readonly ")):
        return "array"
    return written if written in ("string", "number", "boolean", "DataView") else "object"


def python_traits(widget: type) -> dict[str, str]:
    """Name and kind of each trait that a widget class itself declares and syncs."""
    return {name: KINDS[type(trait)] for name, trait in widget.class_own_traits(sync=True).items()}


def test_every_view_is_compared():
    """Each folder of the front end with an entry point has a row here, but for the page that recomputes, which is no widget."""
    assert {path.parent.name for path in SOURCES.glob("*/index.ts")} == {"live", *(view for _, view, _ in WIDGETS)}, (
        "add the view's class, folder and interface to WIDGETS of this file"
    )


def test_the_explorer_mounts_every_view():
    """A view that the page does not know would stay empty."""
    listed = re.search(r"VIEWS.*?\{(.*?)\n\};", (SOURCES / "explorer" / "views.ts").read_text(), re.DOTALL)[1]
    assert dict(re.findall(r"(\w+): (?:withRest\()?(\w+)", listed)) == {
        widget.__name__: view for widget, view, _ in WIDGETS
    }, "widgets/explorer/views.ts and WIDGETS of this file have the same views"


def test_the_explorer_declares_the_same_traits():
    """Its own, beside those of its parts."""
    own = {**python_traits(Whole), **python_traits(Explorer), **python_traits(Explorer.__mro__[1])}
    assert own == typescript_traits("explorer", "ExplorerTraits")


def test_the_page_draws_every_control():
    """One function of the page for each class, by its name."""
    listed = re.search(
        r"const CONTROLS.*?\{(.*?)\n\} as", (SOURCES / "explorer" / "controls.tsx").read_text(), re.DOTALL
    )[1]
    assert set(re.findall(r"^  (\w+)", listed, re.MULTILINE)) == set(CONTROLS)


@pytest.mark.parametrize("control", CONTROLS.values(), ids=list(CONTROLS))
def test_controls_declare_the_same_traits(control):
    """Each class has an interface of its name, or that of the class it is derived from without a trait more."""
    bases = [made for made in control.__mro__ if made.__module__ == controls.__name__]
    named = next(
        made for made in bases if f"interface {made.__name__}Traits " in (SOURCES / "explorer/traits.ts").read_text()
    )
    assert not [made for made in bases[: bases.index(named)] if python_traits(made)]
    source = re.search(
        rf"interface {named.__name__}Traits (?:extends (\w+)Traits )?", (SOURCES / "explorer/traits.ts").read_text()
    )
    above = next((made for made in bases if made.__name__ == source[1]), None)
    between = bases[bases.index(named) : bases.index(above) if above else None]
    own = {name: kind for made in between for name, kind in python_traits(made).items()}
    assert own == typescript_traits("explorer", f"{named.__name__}Traits")


@pytest.mark.parametrize(("widget", "view", "interface"), WIDGETS, ids=[view for _, view, _ in WIDGETS])
def test_both_sides_declare_the_same_traits(widget, view, interface):
    """Same names, same kinds, on both sides."""
    assert python_traits(widget) == typescript_traits(view, interface)


@pytest.mark.parametrize(("widget", "view", "interface"), WIDGETS, ids=[view for _, view, _ in WIDGETS])
def test_the_view_asks_only_for_traits_that_exist(widget, view, interface):
    """Every name in a change event, get or set is a trait."""
    asked = set()
    for path in (SOURCES / view).rglob("*.ts"):
        if not path.name.endswith(".test.ts"):
            text = path.read_text()
            asked |= set(re.findall(r'(?:change:|model\.[gs]et\(")(\w+)', text))
            for listed in re.findall(r"const READ = \[(.*?)\] as const", text, re.DOTALL):
                asked |= set(re.findall(r"\w+", listed))
    assert asked and asked <= set(python_traits(widget))


def test_widgets_say_what_they_are():
    """A saved notebook that is not trusted shows this text, and nbval compares it."""
    assert repr(Gantt()) == "Gantt(0 ops on 0 devices)"
