"""Rows of a study on disk: a folder of small Parquet files, of which each appears only when it is complete."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from types import ModuleType
from typing import Any
from uuid import uuid4

from placelab.base.errors import FormatError, UnsupportedError
from placelab.base.interrupts import need
from placelab.base.limits import path_of
from placelab.base.saving import save

TEXTS = ("key", "problem", "partitioner", "scheduler", "error")
NUMBERS = ("makespan", "bound", "seconds")
FLAGS = ("valid", "oom")
STORED = (*TEXTS, "seed", *NUMBERS, *FLAGS)
PAUSE, SHARE = (
    1.0,
    0.01,
)  # a part is written after a second, later after a hundredth of the time so far: few parts for long studies
Row = dict[str, Any]


class Rows:
    """Finished rows, in memory or, with a path, in the files of a folder.

    Every file is written under another name and renamed, so that a kill at any moment leaves whole files; what was not yet
    written is computed again.

    Raises
    ------
    UnsupportedError
        A path without pyarrow, which reads and writes Parquet.
    FormatError
        `path` is a file, or a file in it is none of a study.
    """

    def __init__(self, path: Any = None) -> None:
        self.folder = None if path is None else _folder(path)
        self.begun = self.written = monotonic()
        self.waiting: list[Row] = []

    def add(self, rows: list[Row]) -> None:
        """Take rows over."""
        self.waiting += rows
        self.write_if_due()

    def write_if_due(self) -> None:
        """Write what is waiting if some time has passed since the last part."""
        now = monotonic()
        if now - self.written >= max(PAUSE, SHARE * (now - self.begun)):
            self.write()

    def write(self) -> None:
        """Write what is waiting; without a path it stays in memory."""
        if self.folder is None or not self.waiting:
            return
        pa, parquet = _arrow()
        columns = {name: [row[name] for row in self.waiting] for name in STORED}
        sink = pa.BufferOutputStream()
        parquet.write_table(pa.table(columns, schema=_schema(pa)), sink, write_page_checksum=True)
        save(sink.getvalue().to_pybytes(), self.folder / f"{uuid4().hex}.parquet", sync=True)
        self.waiting, self.written = [], monotonic()

    def by_key(self) -> dict[str, Row]:
        """All rows there are; of two with one key, as two programs at one folder can leave them, one."""
        parts = parts_of(self.folder) if self.folder else []
        rows = {row["key"]: row for path in parts for row in rows_of(path)}
        return rows | {row["key"]: row for row in self.waiting}


def parts_of(folder: Path) -> list[Path]:
    """The files of a study, by name."""
    return sorted(folder.glob("*.parquet"))


def rows_of(part: Path) -> list[Row]:
    """The rows of a file of a study; FormatError when it is none."""
    pa, parquet = _arrow()
    try:
        file = parquet.ParquetFile(part, page_checksum_verification=True)
        return file.read(columns=list(STORED)).select(STORED).cast(_schema(pa)).to_pylist()
    except (pa.ArrowException, OSError, KeyError, ValueError):
        raise FormatError(f"{part} is no part of a study; remove it, and its rows are computed again") from None


def _folder(path: Any) -> Path:
    folder = path_of(path)
    _arrow()
    if folder.exists() and not folder.is_dir():
        raise FormatError(f"{folder} is a file; a study needs the path of a folder, new or of the study to go on with")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FormatError(f"{folder} cannot be made: {error.strerror}") from None
    return folder


def _arrow() -> tuple[ModuleType, ModuleType]:
    try:
        need("pyarrow.parquet")
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UnsupportedError(
            "the path of a study needs pyarrow: run pip install 'placelab[studies]', or leave the path out"
        ) from None
    return pyarrow, parquet


def _schema(pa: ModuleType) -> Any:
    kinds = dict.fromkeys(TEXTS, pa.string()) | {"seed": pa.int64()}
    kinds |= dict.fromkeys(NUMBERS, pa.float64()) | dict.fromkeys(FLAGS, pa.bool_())
    return pa.schema([(name, kinds[name]) for name in STORED])
