"""Voila, serving one page to this machine's user."""

from __future__ import annotations

import os
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_runtime_dir, secure_write
from jupyter_core.utils import ensure_dir_exists
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from traitlets.config import Config
from voila.app import Voila

from placelab.app.cli.nodelay import without_delay

HERE = Path(__file__).resolve().parent
EXTENSIONS = ["@jupyter-widgets/jupyterlab-manager", "@voila-dashboards/widgets-manager8", "anywidget"]
PING = 30_000  # ms


class Server(Voila):
    """Voila with this folder's template. It reads no configuration: that of the working folder would be a program that runs."""

    def setup_template_dirs(self) -> None:
        """Look for templates in this folder first."""
        super().setup_template_dirs()
        self.template_paths: list[str] = [str(HERE), *self.template_paths]

    def launch_browser(self) -> None:
        """Open the page through a file, as JupyterLab does, so that no process list shows the token."""
        with suppress(webbrowser.Error):
            browser = webbrowser.get()
            ensure_dir_exists(jupyter_runtime_dir(), mode=0o700)
            with secure_write(str(self._redirect)) as file:
                file.write(f'<meta http-equiv="refresh" content="0;url={self.connection_url}?token={self.token}">')
            threading.Thread(target=browser.open, args=(self._redirect.as_uri(), 2), daemon=True).start()

    def stop(self) -> None:
        """End the kernels."""
        self._redirect.unlink(missing_ok=True)
        super().stop()

    @property
    def _redirect(self) -> Path:
        return Path(jupyter_runtime_dir(), f"placelab-{os.getpid()}-open.html")


def serve(ip: str, port: int, token: str, browser: bool) -> None:
    """Serve the page until the process is told to end."""
    Server.launch_instance([], config=config(), **settings(), ip=ip, port=port, token=token, open_browser=browser)


def settings() -> dict[str, Any]:
    """What differs from Voila's defaults: nothing of the user's folders is read or served, and small messages do not wait."""
    return {
        "notebook_path": str(HERE / "explorer.py"),
        "config_file_paths": [],
        "port_retries": 0,
        "log_level": "ERROR",
        # No answer under other names of the machine; and pings as often as their timeout, or tornado warns.
        "tornado_settings": {"allow_remote_access": False, "ws_ping_interval": PING, "ws_ping_timeout": PING},
        "kernel_websocket_connection_class": without_delay(ZMQChannelsWebsocketConnection),
    }


def give_xsrf_cookie(request: Any, **_: Any) -> None:
    """Set the cookie without which a page that closes may not end its kernel."""
    request.xsrf_token  # noqa: B018


def config() -> Config:
    """Configuration of Voila's parts; kernels start in the working folder."""
    page = {
        "allow_template_override": "NO",
        "allow_theme_override": "NO",
        "extension_allowlist": EXTENSIONS,
        "extension_language_mapping": {".py": "python"},
        "file_allowlist": [],
        "language_kernel_mapping": {"python": "python3"},
        "prelaunch_hook": give_xsrf_cookie,
        "show_tracebacks": True,
    }
    return Config({"VoilaConfiguration": page, "MappingKernelManager": {"root_dir": os.getcwd()}})
