"""A picture of memory in use over time: a row per schedule, a panel per device, all with the same axes."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np

from placelab.schedule.schedule import Schedule

WIDTH = 300  # of a panel
HEIGHT = 60
MARGIN = 24  # beside it
LABEL = 90


def curves(schedules: Mapping[str, Schedule]) -> str:
    """The picture as SVG; the keys are the labels of the rows."""
    names = [str(name) for name in next(iter(schedules.values())).problem.cluster.names]
    end = max(schedule.makespan for schedule in schedules.values())
    top = max(schedule.peak_memory.max() for schedule in schedules.values())
    parts = []
    for row, (label, schedule) in enumerate(schedules.items()):
        y = (HEIGHT + MARGIN) * row
        parts.append(f'<text x="0" y="{y + MARGIN + HEIGHT / 2:g}" font-family="monospace">{escape(label)}</text>')
        for column, name in enumerate(names):
            x = LABEL + (WIDTH + MARGIN) * column
            text = f"{escape(name)}: peak {schedule.peak_memory[column]:g}"
            parts.append(
                f'<text x="{x}" y="{y + MARGIN - 6}">{text}</text>'
                f'<path d="{_steps(schedule, name, x, y + MARGIN, end, top)}" fill="#4477aa"/>'
                f'<path d="M{x} {y + MARGIN + HEIGHT}h{WIDTH}" stroke="currentColor"/>'
            )
    size = LABEL + (WIDTH + MARGIN) * len(names), (HEIGHT + MARGIN) * len(schedules) + 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" font-size="13" '
        f'font-family="sans-serif" fill="currentColor" '
        f'role="img" aria-label="Curves show the memory in use over time, one per schedule.">{"".join(parts)}</svg>'
    )


def _steps(schedule: Schedule, name: str, x: float, y: float, end: float, top: float) -> str:
    """The area under the curve of a device."""
    at, held = schedule.memory(name)
    across = x + WIDTH * np.append(at, end) / end
    down = y + HEIGHT * (1 - held / top)
    steps = "".join(f"V{v:.1f}H{h:.1f}" for v, h in zip(down, across[1:], strict=True))
    return f"M{across[0]:.1f} {y + HEIGHT}{steps}V{y + HEIGHT}Z" if len(at) else ""
