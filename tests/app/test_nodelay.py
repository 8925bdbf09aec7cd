"""The server extension turns the delay off, takes it that pages are closed, and leaves unknown servers unchanged."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import socket
from contextlib import suppress
from types import SimpleNamespace

import pytest
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application
from tornado.websocket import WebSocketClosedError, WebSocketHandler, websocket_connect

from placelab.app.cli import nodelay


class Connection:
    """The part of a kernel's websocket connection that the extension builds on."""

    log = logging.getLogger(__name__)

    def __init__(self, websocket_handler):
        self.websocket_handler = websocket_handler

    async def connect(self):
        return "connected"

    def write_message(self, message, binary=False):
        return self.websocket_handler.write_message(message, binary)


class Handler(WebSocketHandler):
    """Connects as Jupyter's handler does, then reports the state of its socket."""

    async def open(self):
        connected = await self.settings[nodelay.SETTING](self).connect()
        stream = self.ws_connection.stream
        self.write_message(json.dumps([connected, stream.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)]))


def server(settings: dict) -> SimpleNamespace:
    """Stand-in for Jupyter's ServerApp with its settings only."""
    return SimpleNamespace(web_app=SimpleNamespace(settings=settings))


async def answer_of(settings: dict) -> list:
    """Answer of a websocket server with these settings to one client."""
    listener, port = bind_unused_port()
    http = HTTPServer(Application([("/", Handler)], **settings))
    http.add_socket(listener)
    client = await websocket_connect(f"ws://127.0.0.1:{port}/")
    try:
        return json.loads(await client.read_message())
    finally:
        client.close()
        http.stop()


@pytest.mark.parametrize("enabled", [False, True])
def test_sets_tcp_nodelay_on_the_socket(enabled):
    """TCP_NODELAY is off by default and on with the extension; the connection is made in both cases."""
    settings = {nodelay.SETTING: Connection}
    if enabled:
        nodelay._load_jupyter_server_extension(server(settings))
    connected, tcp_nodelay = asyncio.run(answer_of(settings))
    assert connected == "connected"
    assert bool(tcp_nodelay) is enabled


class Left(WebSocketHandler):
    """Sends more than a socket takes, and more when the page is closed."""

    def open(self):
        self.connection = self.settings[nodelay.SETTING](self)
        self.connection.write_message(b"0" * 50_000_000, binary=True)

    def on_close(self):
        with suppress(WebSocketClosedError):  # without the extension
            self.connection.write_message("late")
        self.settings["closed"].set()


async def said_of_a_closed_page(connection: type) -> list:
    """What asyncio has to say when a page is closed while messages are on their way to it."""
    said = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context.get("exception")))
    closed = asyncio.Event()
    listener, port = bind_unused_port()
    http = HTTPServer(Application([("/", Left)], **{nodelay.SETTING: connection, "closed": closed}))
    http.add_socket(listener)
    client = await websocket_connect(f"ws://127.0.0.1:{port}/", max_message_size=1)
    client.protocol.stream.close()
    await closed.wait()
    await asyncio.sleep(0.1)
    gc.collect()
    http.stop()
    return said


@pytest.mark.parametrize("enabled", [False, True])
def test_a_closed_page_is_no_error(enabled):
    """Nothing is printed of the messages that do not reach it any more; without the extension tornado's error is."""
    connection = nodelay.without_delay(Connection) if enabled else Connection
    said = asyncio.run(said_of_a_closed_page(connection))
    assert [type(error) for error in said] == ([] if enabled else [WebSocketClosedError])


def test_extends_the_connection_that_jupyter_uses():
    """Jupyter's class stays the base, so only the flag changes."""
    settings = {nodelay.SETTING: ZMQChannelsWebsocketConnection, "other": 1}
    nodelay._load_jupyter_server_extension(server(settings))
    assert issubclass(settings.pop(nodelay.SETTING), ZMQChannelsWebsocketConnection)
    assert settings == {"other": 1}


@pytest.mark.parametrize("settings", [{}, {nodelay.SETTING: None}, {nodelay.SETTING: object}])
def test_leaves_a_different_server_alone(settings):
    """If the setting is missing or the class connects differently, nothing changes and nothing is raised."""
    before = dict(settings)
    nodelay._load_jupyter_server_extension(server(settings))
    assert settings == before


def test_connects_even_if_the_flag_cannot_be_set():
    """A socket without the flag, such as a Unix one, still connects."""
    connection = nodelay.without_delay(Connection)(websocket_handler=None)
    assert asyncio.run(connection.connect()) == "connected"
