"""Jupyter Server extension: send small kernel messages at once, and say nothing of those that a closed page leaves behind.

A kernel's websocket keeps Nagle's algorithm on, so a message smaller than a packet waits for the acknowledgement of the
one before it, which the other side delays by 40 ms. Dragging a device sends and receives many such messages. This sets
TCP_NODELAY on those websockets; where the server is built differently it does nothing. And a page that is closed
while messages are on their way to it had a traceback for each printed in the terminal, ``WebSocketClosedError``.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

SETTING = "kernel_websocket_connection_class"


def without_delay(connection: type) -> type:
    """Subclass of a kernel websocket connection that turns Nagle's algorithm off, and takes it that a page is closed."""
    from tornado.websocket import WebSocketClosedError

    def take(sent: Any) -> None:
        """Look at what became of a message: asyncio prints exceptions that nobody has looked at."""
        if not sent.cancelled() and not isinstance(error := sent.exception(), WebSocketClosedError | None):
            raise error

    class NoDelayConnection(connection):
        async def connect(self) -> Any:
            turn_off_delay(self)
            return await super().connect()

        def write_message(self, message: Any, binary: bool = False) -> None:
            with suppress(WebSocketClosedError):
                self.websocket_handler.write_message(message, binary=binary).add_done_callback(take)

    return NoDelayConnection


def turn_off_delay(connection: Any) -> None:
    """Set TCP_NODELAY on the socket of a connection; leave a socket that does not support it unchanged."""
    try:
        connection.websocket_handler.set_nodelay(True)
    except Exception as error:  # without it the connection is slower, but works
        connection.log.debug("placelab: the kernel websocket keeps its delay: %r", error)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "placelab.app.cli.nodelay"}]


def _load_jupyter_server_extension(app: Any) -> None:
    settings = app.web_app.settings
    connection = settings.get(SETTING)
    if isinstance(connection, type) and hasattr(connection, "connect"):
        settings[SETTING] = without_delay(connection)
