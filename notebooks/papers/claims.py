"""A paper's claims beside our results: collected cell by cell, shown as one table."""

from __future__ import annotations

import os

import pandas as pd

WHOLE = os.environ.get("PLACELAB_WHOLE") == "1"  # long runs at full size, as `make papers` does
VERDICTS = ("reproduced", "partly", "refuted", "input or no claim")


class Claims:
    """The rows of a paper's summary table."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str, str, str]] = []

    def add(self, claim: str, published: str, ours: str, verdict: str, cause: str) -> None:
        """Add a claim; a cell that is run again replaces its own."""
        assert verdict in VERDICTS, verdict
        self.rows = [row for row in self.rows if row[0] != claim] + [(claim, published, ours, verdict, cause)]

    def frame(self) -> pd.DataFrame:
        """All claims so far."""
        return pd.DataFrame(self.rows, columns=["claim", "published", "ours", "verdict", "cause"])


def markdown(frame: pd.DataFrame, index: bool = False) -> str:
    """A frame as a table in Markdown, as the notebooks' first cells have it."""
    if index:
        frame = frame.reset_index()
    lines = [list(map(str, frame.columns)), ["---"] * frame.shape[1], *frame.astype(str).to_numpy().tolist()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
