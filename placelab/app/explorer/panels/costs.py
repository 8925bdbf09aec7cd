"""Choose the costs of ops and transfers: a menu, two factors, and a table of the sources."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from html import escape
from typing import Any

import ipywidgets as w

from placelab.app.explorer.panels.buttons import button
from placelab.app.explorer.panels.choose import choose
from placelab.app.explorer.panels.popover import opens
from placelab.app.explorer.state import Change, State
from placelab.costs.source_table import sources
from placelab.costs.time_units import counts_plainly
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph

COSTS = {"of the model": "model", "Mayer 2017": "mayer", "1 ms per unit": "seconds"}
TIP = (
    "Operations and bytes as the model has them; or 1 to 100 as in Mayer 2017 §5.1, for its cluster mayer50; or plain numbers as "
    "milliseconds, for clusters in SI units."
)
SOURCES_TIP = "Where costs come from, and what if they were larger or smaller"
USED = "Applies to the devices shown"
FACTORS = {
    "compute": ("Compute ×", "All operations and seconds, times this"),
    "transfer": ("Bytes ×", "The bytes of all tensors, times this"),
}


class CostsPicker:
    """The menu, the button that opens the panel, and the panel.

    Parameters
    ----------
    change
        Called with each change of the state, and the key under which quick repetitions are one step.

    Attributes
    ----------
    sliders, reset
        The factors by name, ``"compute"`` and ``"transfer"``, and the button that sets both to 1.
    sources
        The table of the sources.
    """

    def __init__(self, change: Callable[[Change, str], None]) -> None:
        self._change, self._quiet = change, False
        self._graph: OpGraph | None = None  # before it is scaled
        self._used: set[str] = set()  # columns of times that apply to the devices shown
        self._tabled: tuple = ()  # graph and columns that the table was made for
        self.menu = w.Dropdown(options=list(COSTS), description="Costs", tooltip=TIP, layout=w.Layout(width="auto"))
        self.toggle = w.ToggleButton(tooltip=SOURCES_TIP, layout=w.Layout(width="auto"))
        self.sliders = {name: _slider(*words) for name, words in FACTORS.items()}
        self.reset = button("× 1", "Both factors 1 again", lambda: self._set(compute=1.0, transfer=1.0))
        self.sources = w.HTML().add_class("pl-sources")
        sliders = w.HBox([*self.sliders.values(), self.reset]).add_class("pl-factors")
        self.panel = w.VBox([sliders, self.sources]).add_class("pl-open").add_class("pl-costs")
        self.menu.observe(lambda change: self._set(costs=COSTS[change["new"]]), "value")
        for name, slider in self.sliders.items():
            slider.observe(
                lambda change, name=name: self._set(f"scale {name}", **{name: _rounded(change["new"])}), "value"
            )
        opens(self.toggle, self.panel)
        self.toggle.observe(lambda _: self._fill_table(), "value")

    def show(self, state: State) -> None:
        """Show the costs of `state`, without calling `change`."""
        self._quiet = True
        try:
            offered = [label for label, kind in COSTS.items() if kind != "seconds" or counts_plainly(state.model.graph)]
            choose(self.menu, offered, next(label for label, costs in COSTS.items() if costs == state.costs))
            factors = {name: getattr(state, name) for name in FACTORS}
            for name, factor in factors.items():
                if _rounded(self.sliders[name].value) != factor:
                    self.sliders[name].value = factor
        finally:
            self._quiet = False
        changed = any(factor != 1 for factor in factors.values())
        self.toggle.description = " · ".join(f"× {factor:g}" for factor in factors.values()) if changed else "Details…"
        text = ", ".join(f"{FACTORS[name][0].lower()} {factor:g}" for name, factor in factors.items())
        self.toggle.tooltip = f"{text}. {SOURCES_TIP}" if changed else SOURCES_TIP
        self._graph = state.model.with_costs(state.costs)
        self._used = {f"time on {column}" for column in _columns(self._graph, state.cluster)}
        self._fill_table()

    def _fill_table(self) -> None:
        """Write the table if it is visible and outdated."""
        wanted = (self._graph, self._used)
        if self.toggle.value and self._graph is not None and wanted != self._tabled:
            self._tabled = wanted
            self.sources.value = _table(sources(self._graph), self._used)

    def _set(self, key: str = "", **changes: Any) -> None:
        if not self._quiet:
            self._change(lambda state: replace(state, **changes), key)


def _slider(label: str, tip: str) -> w.FloatLogSlider:
    slider = w.FloatLogSlider(1.0, base=10, min=-1, max=1, step=0.05, description=label, readout_format=".3g")
    slider.tooltip, slider.style.description_width, slider.layout.width = tip, "88px", "320px"
    return slider


def _rounded(factor: float) -> float:
    """Three digits; the position of a slider has sixteen."""
    return float(f"{factor:.3g}")


def _columns(graph: OpGraph, cluster: Cluster) -> list[str]:
    """Columns of the graph's times that hold for a device of the cluster."""
    columns = {graph.time_column(name, kind) for name, kind in zip(cluster.names, cluster.types, strict=True)}
    return [graph.time_types[j] for j in columns if j >= 0]


def _table(rows: list[tuple[str, str]], used: Collection[str]) -> str:
    """A row for each source; rows of used columns are marked."""
    return f"<table>{''.join(f'<tr>{_head(a, a in used)}<td>{escape(b)}</td></tr>' for a, b in rows)}</table>"


def _head(label: str, used: bool) -> str:
    return f'<th class="pl-used" title="{USED}">✓ {escape(label)}</th>' if used else f"<th>{escape(label)}</th>"
