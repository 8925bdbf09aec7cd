"""Run a JupyterHub for the tests: its log-in, its proxy, and JupyterLab as a process of its own for each user."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page
from support import forked_kernels, lab_server
from support.lab_server import Lab

# The command of the proxy, where npm puts it.
PROXY = Path(__file__).resolve().parents[1] / "browser/hosts/node_modules/.bin/configurable-http-proxy"


@dataclass(frozen=True)
class Hub:
    """A running JupyterHub: folder of all notebooks, address, the password of every user, log file."""

    root: Path
    url: str
    password: str
    log: Path

    def log_in(self, page: Page, user: str) -> Lab:
        """Log in as a person does, wait until the hub has started JupyterLab, and return that."""
        page.goto(self.url)
        page.get_by_label("Username").fill(user)
        page.get_by_label("Password").fill(self.password)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{self.url}/user/{user}/**", timeout=lab_server.STARTUP * 1000)
        return Lab(self.root, f"{self.url}/user/{user}", "", self.log)


@contextmanager
def running(root: Path, home: Path) -> Iterator[Hub]:
    """JupyterHub on random loopback ports with a random password, its files in ``home``; users are processes of this user."""
    hub = Hub(root, f"http://127.0.0.1:{lab_server.free_port()}", secrets.token_hex(24), home / "log")
    variables = lab_server.environment(home, "")
    settings = home / "hub.json"
    settings.write_text(json.dumps(options(hub, home, variables)))
    command = [sys.executable, "-m", "jupyterhub", "--config", str(settings)]
    with hub.log.open("w") as log, forked_kernels.offered(home, variables):
        server = subprocess.Popen(command, env=variables, cwd=home, stdout=log, stderr=subprocess.STDOUT)
        try:
            lab_server.wait_until_up(Lab(root, f"{hub.url}/hub", "", hub.log), server, "/api")
            yield hub
        finally:
            lab_server.end(server)


def options(hub: Hub, home: Path, variables: dict[str, str]) -> dict[str, dict[str, object]]:
    """Its settings: any name may log in with the password, and JupyterLab is run as by `lab_server`."""
    local = "http://127.0.0.1"
    return {
        "JupyterHub": {
            "bind_url": hub.url,
            "hub_bind_url": f"{local}:{lab_server.free_port()}",
            "authenticator_class": "dummy",
            "spawner_class": "simple",
            "cleanup_servers": True,
        },
        "ConfigurableHTTPProxy": {"command": [str(PROXY)], "api_url": f"{local}:{lab_server.free_port()}"},
        "Authenticator": {"allow_all": True},
        "DummyAuthenticator": {"password": hub.password},
        "Spawner": {
            "args": ["--allow-root", "--LabApp.expose_app_in_browser=True"],
            "notebook_dir": str(hub.root),
            "environment": {name: variables[name] for name in lab_server.FOLDERS},
            "start_timeout": lab_server.STARTUP,
            "http_timeout": lab_server.STARTUP,
        },
        "SimpleLocalProcessSpawner": {"home_dir_template": f"{home}/homes/{{username}}"},
    }
