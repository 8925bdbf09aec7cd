"""The package's dependencies are pinned, have no fixed source, and no text names a machine."""

from __future__ import annotations

import base64
import gzip
import importlib.metadata
import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONSTRAINTS = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and line[0] != "#"]
PINNED = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in CONSTRAINTS)}
NODE = [ROOT / "widgets", ROOT / "tests" / "browser" / "hosts"]  # folders with a package.json

# Folders of a particular machine; shebangs and device files are allowed.
MACHINE_PATH = re.compile(r"(?<![\w.}])/(home|root|Users|work|tmp|opt|mnt)/\w|[A-Z]:\\\\Users")


def committed() -> list[Path]:
    """Files that git tracks and the working tree has."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def texts() -> list[Path]:
    """Committed files that are text."""
    return [path for path in committed() if b"\0" not in path.read_bytes()[:4096]]


def test_constraints_are_exact():
    """Each line of constraints.txt pins one version; no address, no option, no editable install."""
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line) for line in CONSTRAINTS)
    assert len(PINNED) == len(CONSTRAINTS)


@pytest.mark.parametrize(("extra", "brings"), [("test", "pytest"), ("docs", "sphinx")])
def test_constraints_pin_everything_that_is_installed(extra, brings):
    """Every direct or indirect requirement of the project has its line in constraints.txt."""
    pytest.importorskip(brings)
    unpinned = reached("placelab", extra) - {"placelab"} - PINNED.keys()
    assert not unpinned


def reached(name: str, extra: str) -> set[str]:
    """Distributions that this one requires with this extra, directly or indirectly, itself included."""
    found: set[tuple[str, str]] = set()
    waiting = [(name, ""), (name, extra)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        for requirement in map(Requirement, importlib.metadata.requires(name) or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(requirement.name), asked) for asked in ("", *requirement.extras)]
    return {name for name, _ in found}


def test_build_requirements_are_exact():
    """The build backend is pinned too, because constraints.txt does not apply to an isolated build."""
    requirements = [Requirement(line) for line in PROJECT["build-system"]["requires"]]
    assert all([bound.operator for bound in requirement.specifier] == ["=="] for requirement in requirements)


def test_constraints_meet_the_project_requirements():
    """The tested versions are those that pyproject.toml allows."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    for line in [*PROJECT["project"]["dependencies"], *(line for extra in extras for line in extra)]:
        requirement = Requirement(line)
        if requirement.name == "placelab":  # several extras at once
            continue
        assert PINNED[canonicalize_name(requirement.name)] in requirement.specifier, line


def test_pins_run_on_the_oldest_python_supported():
    """No pinned version needs more than requires-python: Debian 12 has 3.11.2, which is enough."""
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=") + ".0"
    wanted = {name: importlib.metadata.metadata(name).get("Requires-Python") for name in reached("placelab", "test")}
    assert not {name: wants for name, wants in wanted.items() if wants and oldest not in SpecifierSet(wants)}


@pytest.mark.parametrize("folder", NODE, ids=lambda folder: folder.name)
def test_front_end_lock_is_exact_and_names_no_registry(folder):
    """package-lock.json has an integrity hash and no address for each package, and package.json pins exact versions."""
    lock = json.loads((folder / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())
    assert not [name for name, package in packages.items() if "resolved" in package]
    manifest = json.loads((folder / "package.json").read_text())
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in manifest["devDependencies"].values())


@pytest.mark.parametrize(
    "path",
    [
        "constraints.txt",
        "pyproject.toml",
        "Makefile",
        *(f"{each.relative_to(ROOT)}/package-lock.json" for each in NODE),
    ],
)
def test_nothing_is_fetched_from_a_named_place(path):
    """The user chooses the index or registry of the packages."""
    assert not re.search(r"index-url|find-links|registry\.|pypi\.org|file://|git\+", (ROOT / path).read_text())


def test_no_text_names_a_machine():
    """No committed text has a path of a particular machine."""
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in texts()
        if path != Path(__file__)
        for match in MACHINE_PATH.finditer(path.read_text(errors="replace"))
    ]
    assert not found


def test_the_server_extension_is_enabled_by_the_installation():
    """Installing placelab, editable or not, puts the extension's switch into Jupyter Server's search path."""
    files = [str(file) for file in importlib.metadata.files("placelab")]
    assert any(file.endswith("etc/jupyter/jupyter_server_config.d/placelab.json") for file in files)


@pytest.mark.parametrize(("job", "before"), [("build", "python -m build"), ("site", "make docs")])
def test_a_release_names_its_repository(job, before, tmp_path):
    """The workflow writes the address of the host that runs it where the package's metadata and the site's pages have it from."""
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"][job]["steps"]
    commands = [step.get("run", "") for step in steps]
    (naming,) = (k for k, command in enumerate(commands) if "project.urls" in command)
    assert naming < next(k for k, command in enumerate(commands) if command.startswith(before))

    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    host = {"GITHUB_SERVER_URL": "https://example.org", "GITHUB_REPOSITORY": "lab/placelab"}
    subprocess.run(["bash", "-c", commands[naming]], cwd=tmp_path, env=os.environ | host, check=True)
    named = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]
    assert named.pop("urls") == {"Repository": "https://example.org/lab/placelab"}
    assert named == PROJECT["project"]


def test_a_release_has_a_readme_of_absolute_links(tmp_path):
    """The package's page has no repository around it: pictures are raw files, links lead to the release's."""
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]["build"]["steps"]
    (command,) = (step["run"] for step in steps if "README.md" in step.get("run", ""))
    before = (ROOT / "README.md").read_text()
    (tmp_path / "README.md").write_text(before)
    host = {
        "GITHUB_SERVER_URL": "https://example.org",
        "GITHUB_REPOSITORY": "lab/placelab",
        "GITHUB_REF_NAME": "v1.2.3",
    }
    subprocess.run(["bash", "-c", command], cwd=tmp_path, env=os.environ | host, check=True)
    after = (tmp_path / "README.md").read_text()
    assert "](https://example.org/lab/placelab/raw/v1.2.3/docs/explorer.png)" in after
    assert "](https://example.org/lab/placelab/blob/v1.2.3/CONTRIBUTING.md)" in after
    links = re.findall(r"\]\(([^)]*)\)", after)
    assert len(links) == len(re.findall(r"\]\(([^)]*)\)", before)) > 10
    assert all(link.startswith("https://") for link in links)


def test_bundles_are_small():
    """Gzipped, a view stays under 60 KB; those that have views in them, the explorer and the live page, under 250 and 127 KB."""
    larger = {"explorer": 250_000, "live": 127_000}
    for path in (ROOT / "placelab" / "app" / "widgets" / "static").glob("*.js"):
        assert len(gzip.compress(path.read_bytes())) <= larger.get(path.stem, 60_000), path.stem


def test_the_tour_opens_with_the_readmes_picture():
    """Who opens the tour without a kernel sees the explorer, and how to make it live."""
    cell = json.loads((ROOT / "notebooks" / "00_tour.ipynb").read_text())["cells"][1]
    words, picture = (output["data"] for output in cell["outputs"])
    assert "Run this cell to make it live." in "".join(words["text/markdown"])
    assert base64.b64decode("".join(picture["image/png"])) == (ROOT / "docs" / "explorer.png").read_bytes()
