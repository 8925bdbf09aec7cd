"""Which Chromium do the browser tests drive, and where does a machine without one get it?

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
    """Executable that PLACELAB_CHROMIUM names, else one on the PATH, else Playwright's own, else None."""
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


def install() -> None:
    """Fetch a Chromium the way this machine can; the caller looks whether that worked."""
    root = os.geteuid() == 0
    if root and is_debian() and all(run(command) for command in DEBIAN):
        return
    run((*PLAYWRIGHT, "--with-deps") if root else PLAYWRIGHT)


def is_debian() -> bool:
    """Whether this is Debian itself; Ubuntu's package of that name holds no browser."""
    try:
        return platform.freedesktop_os_release()["ID"] == "debian"
    except OSError:
        return False


def run(command: tuple[str, ...]) -> bool:
    """Run a command in the open, without questions; whether it succeeded."""
    print("+", *command, flush=True)
    return subprocess.run(command, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}).returncode == 0


def main() -> None:
    if find() is None:
        install()
    executable = find()
    if executable is None or not runs(executable):
        named = f" ({executable} does not start)" if executable else ""
        sys.exit(f"The browser tests need Chromium and none could be had{named}. {REMEDY}")
    print(f"browser tests use {executable}")


if __name__ == "__main__":
    main()
