"""Make a number for the row above the chart, or for the table of a job."""

from __future__ import annotations

Item = dict[str, str]  # key, label, value, title, tone, as in the `numbers` trait of the Gantt chart


def item(key: str, label: str, value: str, title: str = "", tone: str = "") -> Item:
    """A number: what it is called, its text, the words on hover, and ``"good"``, ``"bad"`` or ""."""
    return {"key": key, "label": label, "value": value, "title": title, "tone": tone}
