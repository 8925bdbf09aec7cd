"""Write both copies of the course's lessons into docs/generated, as archives to download, before the site is built."""

from __future__ import annotations

import io
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from sphinx.application import Sphinx

from placelab.app.cli.lessons_command import LESSONS, students_copy


def write_copies(app: Sphinx) -> None:
    """docs/generated/lessons-students.zip and docs/generated/lessons-instructors.zip."""
    lessons = sorted(Path(app.srcdir, LESSONS).glob("*.ipynb"))
    texts = {path.name: path.read_text("utf-8") for path in lessons}
    students = {name: students_copy(text) for name, text in texts.items()}
    for who, copies in (("students", students), ("instructors", texts)):
        file = Path(app.srcdir, "docs", "generated", f"lessons-{who}.zip")
        file.parent.mkdir(parents=True, exist_ok=True)
        archive = zipped(copies, f"lessons-{who}")
        if not file.exists() or file.read_bytes() != archive:
            file.write_bytes(archive)


def zipped(texts: dict[str, str], folder: str) -> bytes:
    """An archive of these files; the same bytes at each build."""
    archive = io.BytesIO()
    with ZipFile(archive, "w") as files:
        for name, text in texts.items():
            files.writestr(ZipInfo(f"{folder}/{name}"), text, ZIP_DEFLATED)  # dated 1980
    return archive.getvalue()


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the build."""
    app.connect("builder-inited", write_copies)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
