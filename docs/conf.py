"""Sphinx: the sources are the repository's own Markdown files and notebooks, so its root is the source folder."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_ext")]

project = "placelab"
author = "the placelab authors"
copyright = "the placelab authors, MIT licence"
version = release = metadata.version("placelab")

root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "notebooks/**",
    "datasets/README.md",
    "benchmarks/*.md",
    "benchmarks/quality/*.md",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "widgets/README.md",
]
# Sphinx walks the source folder; these have no page and many files.
exclude_patterns = [
    *(".*", "build", "dist", "placelab", "tests", "widgets/*/**", "**/_*", "**/.ipynb_checkpoints"),
    "notebooks/lessons/*.md",  # answers among them
]
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "lesson_copies",
    "mathml",
    "playground",
    "puzzle_pages",
    "shown",
    "strategy_pages",
]

# ---------------------------------------------------------------- Markdown and notebooks
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 4
myst_all_links_external = False
nb_execution_mode = "off"  # notebooks show their stored outputs; the tests run them
nb_ipywidgets_js = {}  # would be fetched from a public server
nb_merge_streams = True

# ---------------------------------------------------------------- API
autosummary_generate = True
autosummary_generate_overwrite = True
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_ivar = True  # fields of dataclasses are described once, under Attributes
napoleon_use_rtype = False
napoleon_preprocess_types = False
python_maximum_signature_line_length = 100
nitpicky = True
nitpick_ignore_regex = [
    # Types in signatures: of other projects, whose inventories would have to be fetched, and of the rooms behind the API.
    ("py:(class|obj|exc|data)", r"(?!placelab\.).*"),
    # What is behind the API; that it is there, a house test checks.
    ("py:(class|func|meth|mod|attr|data)", r"placelab\.(\w+\.){2,}\w+"),
    (
        "py:class",
        r"placelab\..*\.(Either|Units|Profile|PlacementColumns|Explorer|SavedPicture|Computation|Favourites|Tables|Optimum|Patience|StudyView|Image|Wanted|Training|Shape)",
    ),
]


def readable(app, what, name, obj, options, lines):
    """Mend what napoleon misreads: several attributes in one line, and a colon in the first line of a property."""
    if what == "class" and "Attributes" in lines:
        start = lines.index("Attributes")
        joined = [
            re.sub(r", (?=[\w, ]*( :|$))", "/", line) if re.match(r"\w+(, \w+)+( :|$)", line) else line
            for line in lines[start:]
        ]
        lines[start:] = joined
    if what == "property" and lines:
        lines[0] = lines[0].replace(": ", " – ", 1)


def parsable(app, what, name, obj, options, signature, returned):
    """A signature of a dataclass without ``<factory>``, which is no Python."""
    return (signature or "").replace("<factory>", "{}") or None, returned


def setup(app):
    """Connect the two, the first one before napoleon."""
    app.connect("autodoc-process-docstring", readable, priority=400)
    app.connect("autodoc-process-signature", parsable)


# ---------------------------------------------------------------- HTML
html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"placelab {version}"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
templates_path = [str(ROOT / "docs" / "_templates")]
html_css_files = ["site.css"]
html_js_files = ["tables.js"]
html_additional_pages = {"index": "forward.html"}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
# A link to the repository stands at the foot of each page if pyproject.toml names one ([project.urls] Repository), as the release
# workflow makes it do.
if repository := tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("urls", {}).get("Repository"):
    html_theme_options["footer_icons"] = [{"name": "Repository", "url": repository, "html": "Repository", "class": ""}]
copybutton_exclude = ".linenos, .gp, .go"
