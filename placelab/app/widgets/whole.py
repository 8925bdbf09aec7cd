"""Many widgets as one of the front end: each is a part of the whole, and its traits and messages go over the model of the whole.

Front ends that know no tree of widgets, as marimo, VS Code and Colab, show such a whole like JupyterLab: it is one anywidget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from threading import RLock, get_ident, local
from typing import TYPE_CHECKING, Any, ClassVar

import anywidget
import ipywidgets
import traitlets

from placelab.app.widgets.commands import read
from placelab.base.directions import all_isolated, all_joined
from placelab.base.errors import PlacelabError
from placelab.base.threads import ending

UNSENT = ("layout", "tabbable", "tooltip")  # traits of a view alone in a cell; a control's tooltip is its own
_numbers = count(1)


class PartComm:
    """The comm of a part: it hands messages to the whole, and drops them while the part belongs to none.

    Attributes
    ----------
    comm_id
        The name of the part in the whole.
    """

    def __init__(self) -> None:
        self.comm_id = f"p{next(_numbers)}"
        self.whole: Whole | None = None
        self._hear: Callable[[Any], None] = lambda message: None

    def on_msg(self, hear: Callable[[Any], None]) -> None:
        """Have a function called with each message of the page."""
        self._hear = hear

    def send(self, data: Any = None, metadata: Any = None, buffers: Any = None) -> None:
        """Hand a message of the part to the whole."""
        if self.whole is not None:
            self.whole._relay(self.comm_id, data, buffers or [])

    def close(self, *_: Any, **__: Any) -> None:
        """Leave the whole."""
        self.whole = None


def pass_running_cells(comm: Any) -> None:
    """Have messages of the page handled where the page sends them, which is past a running cell if the host can.

    From 7.4 on ipykernel hands them to the shell that has last written to the comm; if a cell or a thread did, that is the main
    shell, and they wait until the running cell has ended.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda data, subshell: subshell


class Sender(ipywidgets.Widget):
    """A widget that sends nothing once Python ends: the kernel closes its sockets, and a message would be half one."""

    def _send(self, msg: Any, buffers: Any = None) -> None:
        if not ending():
            super()._send(msg, buffers)


class Part(Sender):
    """A widget that is a part of a whole if its comm is a :class:`PartComm`: hosts do not hear of it, and do not keep it.

    Attributes
    ----------
    result_of
        Key of the state whose result it shows (:mod:`placelab.app.explorer.state`), or of the problem alone; "" for what
        belongs to none. Where the whole is at another state, the page shows it grey, as what is being computed.
    handles
        What the page's commands do: functions of their fields, by kind (:mod:`placelab.app.widgets.commands`).
    """

    result_of = traitlets.Unicode("").tag(sync=True)

    verbatim: ClassVar[tuple[str, ...]] = ()  # traits that are no sentences: code, and what a hand types

    handles: Mapping[str, Callable[..., object]] = {}

    _shower = 0  # the thread that shows what was set elsewhere

    def __init__(self, **traits: Any) -> None:
        if isinstance(traits.get("comm"), PartComm):
            super(ipywidgets.Widget, self).__init__(**traits)  # Widget's own would announce it
        else:
            super().__init__(**traits)

    @traitlets.observe("comm")
    def _comm_changed(self, change: Any) -> None:
        if not isinstance(change["new"], PartComm):
            pass_running_cells(change["new"])
            return super()._comm_changed(change)
        self._model_id = change["new"].comm_id
        change["new"].on_msg(self._handle_msg)

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Traits as the page shows them: names of any script turn no text around them."""
        state = super().get_state(key, drop_defaults)
        return {name: value if name in self.verbatim else all_isolated(value) for name, value in state.items()}

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take traits that the page has set, with names as they are."""
        super().set_state(all_joined(sync_data))

    def obey(self, message: Any, buffers: Sequence[Any] = ()) -> None:
        """Do what a command asks for; ignore what is none, and one that this part does not know."""
        try:
            kind, fields = read(message, buffers)
        except PlacelabError:
            return
        if kind in self.handles:
            self.handles[kind](**fields)

    def _handle_custom_msg(self, content: Any, buffers: Sequence[Any]) -> None:
        self.obey(content, buffers)

    @property
    def quiet(self) -> bool:
        """Whether this thread only shows what was set elsewhere, which is to have no further effect."""
        return self._shower == get_ident()

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """Show what was set elsewhere: what `on_choice` was given is not called."""
        before = self._shower
        self._shower = get_ident()
        try:
            yield
        finally:
            self._shower = before

    def take(self, **traits: Any) -> None:
        """Show values that were set elsewhere, in one message."""
        with self.quietly(), self.hold_sync():
            for name, value in traits.items():
                self.set_trait(name, value)

    def on_choice(self, act: Callable[[Any], object], names: str | list[str] = "value") -> None:
        """Have a function called with each `value` that a hand sets, or a program in its place; not with those that are shown."""
        self.observe(lambda change: None if self.quiet else act(change["new"]), names)


class View(Part, anywidget.AnyWidget):
    """A widget with a module of its own: alone in a cell, or a part."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def references(parts: Sequence[ipywidgets.Widget], _: object = None) -> list[list[str]]:
    """Name and kind of each part, by which the page finds and draws it."""
    return [[part.model_id, getattr(part, "kind", type(part).__name__)] for part in parts]


def below(part: ipywidgets.Widget) -> Iterator[ipywidgets.Widget]:
    """A part and all those in it."""
    yield part
    for child in getattr(part, "children", ()):
        yield from below(child)


def state_of(part: ipywidgets.Widget) -> dict[str, Any]:
    """The traits of a part that the page knows, named as those of the whole."""
    view = isinstance(part, ipywidgets.DOMWidget)
    keys = [key for key in part.keys if not key.startswith("_") and not (view and key in UNSENT)]
    return {f"{part.model_id}.{key}": value for key, value in part.get_state(keys).items()}


class Whole(Sender, anywidget.AnyWidget):
    """One widget for a front end, made of parts.

    Parameters
    ----------
    parts
        Controls and views, made with a :class:`PartComm`; those in a box are parts, too, also the ones that come later.

    Attributes
    ----------
    root
        Name and kind of the outermost parts.
    links
        Pairs of traits, as ``["p1.candidates", "p2.candidates"]``: in the page the second follows the first.
    views
        How often the page shows the whole now.
    """

    root: traitlets.List[list[str]] = traitlets.List().tag(sync=True)
    links: traitlets.List[list[str]] = traitlets.List().tag(sync=True)
    views = traitlets.Int(0).tag(sync=True)

    def __init__(self, parts: Sequence[ipywidgets.Widget], **traits: Any) -> None:
        self._joining = RLock()
        self._sending = RLock()  # values are read and sent in one go: none that is older comes after a newer one
        self._held = local()  # .names: of parts, and of their traits that this thread has not sent yet
        self._parts: dict[str, ipywidgets.Widget] = {}
        self.children = tuple(parts)
        for part in parts:
            self._join(part)
        super().__init__(root=references(parts), **traits)
        pass_running_cells(self.comm)
        self.on_msg(self._deliver)

    def close(self) -> None:
        """Close all parts and the whole."""
        for part in [*self._parts.values()]:
            part.close()
        self._parts.clear()
        super().close()

    # ---------------------------------------------------------------- to the page

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """Own traits, and where none is named, those of all parts."""
        state = super().get_state(key, drop_defaults)
        if key is None:
            with self._joining:
                parts = [*self._parts.values()]
            for part in parts:
                state.update(state_of(part))
        return state

    if not TYPE_CHECKING:  # for which every attribute would be there

        def __getattr__(self, name: str) -> None:
            """None for the trait of a part: `ipywidgets.embed` looks whether what is in the state refers to other widgets."""
            if name.partition(".")[0] not in self.__dict__.get("_parts", ()):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @contextmanager
    def in_one_message(self) -> Iterator[None]:
        """Send what parts have to say in this thread meanwhile at the end, as one message: many take the page longer."""
        if self._names_held is not None:
            yield
            return
        self._held.names = {}
        try:
            yield
        finally:
            self._send_held()
            self._held.names = None

    @property
    def _names_held(self) -> dict[str, dict[str, None]] | None:
        """Traits of each part that wait to be sent, in this thread; None where it holds nothing back."""
        return getattr(self._held, "names", None)

    def _send_held(self) -> None:
        """Send what waits, with the values of now: another thread may have sent newer ones than those of then."""
        held = self._names_held
        if not held:
            return
        self._held.names = {}
        with self._sending:
            there = [(self._parts[name], [*traits]) for name, traits in held.items() if name in self._parts]
            state = {
                f"{part.model_id}.{key}": value for part, keys in there for key, value in part.get_state(keys).items()
            }
            plain, paths, buffers = _apart(state)
            self._send({"method": "update", "state": plain, "buffer_paths": paths}, buffers)

    def _relay(self, name: str, data: dict[str, Any], buffers: list[Any]) -> None:
        """Send a message of a part as one of the whole."""
        if data["method"] == "custom":
            self._send_held()
            self._send({"method": "custom", "content": {"to": name, "content": data["content"]}}, buffers)
            return
        state = {f"{name}.{key}": value for key, value in data["state"].items()}
        paths = [[f"{name}.{path[0]}", *path[1:]] for path in data.get("buffer_paths", ())]
        if "children" in data["state"]:
            more, more_paths, more_buffers = _apart(self._joined(self._parts[name]))
            state |= more
            paths += more_paths
            buffers = [*buffers, *more_buffers]
        held = self._names_held
        if held is None or data["method"] != "update":
            with self._sending:
                self._send({"method": data["method"], "state": state, "buffer_paths": paths}, buffers)
            return
        for key in [*state, *(path[0] for path in paths)]:
            part, _, trait = key.partition(".")
            held.setdefault(part, {})[trait] = None

    def _joined(self, box: ipywidgets.Widget) -> dict[str, Any]:
        """Take over the parts that have come into a box, close those that have left it, and return the state of the new ones."""
        with self._joining:
            new = [part for child in box.children for part in below(child) if part.model_id not in self._parts]
            for part in new:
                self._join(part)
            kept = {part.model_id for child in self.children for part in below(child)}
            left = [part for name, part in self._parts.items() if name not in kept]
            for part in left:
                del self._parts[part.model_id]
                part.close()
        return {key: value for part in new for key, value in state_of(part).items()}

    def _join(self, outermost: ipywidgets.Widget) -> None:
        for part in below(outermost):
            assert isinstance(part.comm, PartComm), f"{part!r} is made without a PartComm"
            part.comm.whole = self
            self._parts[part.model_id] = part

    # ---------------------------------------------------------------- from the page

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take own traits, and hand those of parts to them."""
        own: dict[str, Any] = {}
        of_parts: dict[str, dict[str, Any]] = {}
        for key, value in sync_data.items():
            name, dot, trait = key.partition(".")
            if dot:
                of_parts.setdefault(name, {})[trait] = value
            else:
                own[key] = value
        if own:
            super().set_state(own)
        for name, state in of_parts.items():
            if (part := self._parts.get(name)) is not None:
                part.set_state(state)

    def _deliver(self, _: object, content: Any, buffers: list[Any]) -> None:
        """Hand a message to the part that it is for."""
        part = self._parts.get(content.get("to", "")) if isinstance(content, dict) else None
        if part is not None:
            part._handle_custom_msg(content.get("content"), buffers)


def _apart(state: dict[str, Any]) -> tuple[dict[str, Any], list[list[Any]], list[Any]]:
    """State without its buffers, their places, and the buffers."""
    plain, paths, buffers = ipywidgets.widgets.widget._remove_buffers(state)
    return plain, paths, buffers
