"""Find the Chromium for the browser tests, or install one.

Run as a program it makes sure there is one: any that the machine has, else Debian's package (as root, on Debian), else
the one Playwright downloads.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REMEDY = "Install Chromium or Chrome and, if it is not on the PATH, name its executable in PLACELAB_CHROMIUM."
DEBIAN = (
    ("apt-get", "update", "-qq"),
    ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-dejavu-core"),
)
PLAYWRIGHT = (sys.executable, "-m", "playwright", "install", "--no-shell", "chromium")


def find() -> str | None:
    """Executable named by PLACELAB_CHROMIUM, else one on the PATH, else Playwright's own, else None."""
    named = os.environ.get("PLACELAB_CHROMIUM")
    if named:
        return named
    found = [path for path in map(shutil.which, COMMANDS) if path and runs(path)]
    return found[0] if found else playwrights_own()


def runs(executable: str) -> bool:
    """Whether the executable starts; Ubuntu's ``chromium-browser`` may only say that a snap is missing."""
    try:
        return subprocess.run([executable, "--version"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def playwrights_own() -> str | None:
    """Chromium in Playwright's own folder, if ``playwright install`` has put one there."""
    with sync_playwright() as playwright:
        executable = playwright.chromium.executable_path
    return executable if Path(executable).exists() else None


def ways() -> list[tuple[tuple[str, ...], ...]]:
    """Ways to get a Chromium on this machine, each a sequence of commands, the best first."""
    if os.geteuid():
        return [(PLAYWRIGHT,)]
    return [*([DEBIAN] if is_debian() else []), ((*PLAYWRIGHT, "--with-deps"),), (PLAYWRIGHT,)]


def is_debian() -> bool:
    """Whether this is Debian itself; Ubuntu's package of that name holds no browser."""
    try:
        return platform.freedesktop_os_release()["ID"] == "debian"
    except OSError:
        return False


def run(command: tuple[str, ...]) -> bool:
    """Run a command with its output shown and without questions; returns whether it succeeded."""
    print("+", *command, flush=True)
    return subprocess.run(command, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}).returncode == 0


def main() -> None:
    """Print the Chromium there is, or install one first; end with one sentence if that fails."""
    for way in [(), *ways()]:
        if all(map(run, way)) and (executable := find()) and runs(executable):
            print(f"browser tests use {executable}")
            return
        if os.environ.get("PLACELAB_CHROMIUM"):
            sys.exit(f"PLACELAB_CHROMIUM names {os.environ['PLACELAB_CHROMIUM']}, which does not start.")
    sys.exit(f"The browser tests need Chromium, and none could be had. {REMEDY}")


if __name__ == "__main__":
    main()
