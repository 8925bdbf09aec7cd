"""Many widgets as one: what a part says goes over the whole, what the page says reaches the part, and nothing is left behind."""

from __future__ import annotations

from threading import Thread
from typing import Any

import comm
import pytest
from ipykernel.comm.comm import BaseComm
from ipykernel.kernelbase import Kernel
from ipywidgets.embed import dependency_state
from ipywidgets.widgets.widget import Widget, _instances

from placelab.app.widgets import controls as w
from placelab.app.widgets.gantt_chart import Gantt
from placelab.app.widgets.whole import PartComm, Whole


@pytest.fixture
def box():
    return w.VBox([w.Button(description="go"), w.Dropdown(["a", "b"], description="which")])


@pytest.fixture
def whole(box, monkeypatch):
    """A whole of that box; what it sends is in ``whole.sent``."""
    made = Whole([box])
    made.sent = []
    monkeypatch.setattr(made, "_send", lambda message, buffers=None: made.sent.append((message, buffers)))
    yield made
    made.close()


def sent_state(whole: Whole) -> dict[str, Any]:
    """All traits sent, the last value of each."""
    return {key: value for message, _ in whole.sent for key, value in message.get("state", {}).items()}


def test_a_part_is_no_widget_of_the_host(box):
    """No comm is opened for it, and ipywidgets does not keep it."""
    assert isinstance(box.comm, PartComm) and not {part.model_id for part in (box, *box.children)} & set(_instances)


def test_a_trait_of_a_part_is_one_of_the_whole(whole, box):
    """Under the part's name, once, whatever the page is told of first."""
    button, menu = box.children
    button.description = "stop"
    assert [message for message, _ in whole.sent] == [
        {"method": "update", "state": {f"{button.model_id}.description": "stop"}, "buffer_paths": []}
    ]
    assert whole.get_state()[f"{menu.model_id}.labels"] == ["a", "b"]
    assert whole.get_state()["root"] == [[box.model_id, "VBox"]]


def test_what_the_page_says_reaches_the_part(whole, box):
    """A choice and a click; a part that is gone hears nothing."""
    button, menu = box.children
    clicks: list[object] = []
    button.handles = {"click": lambda: clicks.append(button)}
    whole._handle_msg({"content": {"data": {"method": "update", "state": {f"{menu.model_id}.index": 1}}}})
    assert menu.value == "b"
    for to in (button.model_id, "p0", None):
        custom = {"method": "custom", "content": {"to": to, "content": {"kind": "click"}}}
        whole._handle_msg({"content": {"data": custom}, "buffers": []})
    whole._handle_msg({"content": {"data": {"method": "update", "state": {"p0.index": 1}}}})
    assert clicks == [button]


def test_the_page_knows_a_new_part_before_it_draws_it(whole, box):
    """One message has the state of the new part and the box's children; what has left is closed."""
    old = box.children
    new = w.HBox([w.HTML("text")])
    box.children = [old[0], new]
    [(message, _)] = whole.sent
    assert message["state"][f"{new.children[0].model_id}.value"] == "text"
    assert message["state"][f"{box.model_id}.children"] == [[old[0].model_id, "Button"], [new.model_id, "HBox"]]
    assert old[1].comm is None and old[0].comm is not None
    whole.sent.clear()
    old[1].description = "nobody hears it"
    new.children[0].value = "other"
    assert sent_state(whole) == {f"{new.children[0].model_id}.value": "other"}


def test_what_parts_say_together_is_one_message(monkeypatch):
    """The last value of each trait with its bytes, before a custom message; what another thread says is not held."""
    chart = Gantt(comm=PartComm())
    box = w.VBox([w.Button(description="go")])
    whole = Whole([chart, box])
    messages: list[tuple[dict[str, Any], Any]] = []
    monkeypatch.setattr(whole, "_send", lambda message, buffers=None: messages.append((message, buffers)))
    [go] = box.children
    with whole.in_one_message():
        chart.schedule = b"12345678"
        with whole.in_one_message():
            chart.schedule = b"87654321"
            go.description = "stop"
        other = Thread(target=lambda: setattr(go, "tooltip", "elsewhere"))
        other.start()
        other.join()
        assert [message["state"] for message, _ in messages] == [{f"{go.model_id}.tooltip": "elsewhere"}]
        chart.send({"said": 1})
        box.children = [go, w.HTML("new")]
    (_, (first, buffers), (custom, _), (last, none)) = messages
    assert first["state"] == {f"{go.model_id}.description": "stop"} and [bytes(b) for b in buffers] == [b"87654321"]
    assert first["buffer_paths"] == [[f"{chart.model_id}.schedule"]]
    assert custom["content"] == {"to": chart.model_id, "content": {"said": 1}}
    assert last["state"][f"{box.children[1].model_id}.value"] == "new" and none == []
    whole.close()


def test_what_is_held_back_is_not_older_than_what_was_sent(box, monkeypatch):
    """A trait that another thread has set meanwhile has that value in the message at the end, too."""
    whole = Whole([box])
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr(whole, "_send", lambda message, buffers=None: messages.append(message["state"]))
    go, *_ = box.children
    with whole.in_one_message():
        go.description = "before"
        other = Thread(target=lambda: setattr(go, "description", "after"))
        other.start()
        other.join()
    assert messages == [{f"{go.model_id}.description": "after"}] * 2
    whole.close()


def test_bytes_of_a_view_travel_as_buffers(monkeypatch):
    """Their places are named as the traits of the whole."""
    chart = Gantt(comm=PartComm())
    whole = Whole([chart])
    messages: list[tuple[dict[str, Any], Any]] = []
    monkeypatch.setattr(whole, "_send", lambda message, buffers=None: messages.append((message, buffers)))
    chart.schedule = b"12345678"
    [(message, buffers)] = messages
    assert message["buffer_paths"] == [[f"{chart.model_id}.schedule"]] and [bytes(b) for b in buffers] == [b"12345678"]
    assert not {key for key in whole.get_state() if key.endswith((".layout", "._esm"))}
    whole.close()
    assert chart.comm is None and whole.comm is None


def test_a_control_is_drawn_as_the_class_it_is_derived_from():
    """The page knows the classes of `controls` alone."""

    class Line(w.HTML):
        pass

    assert (Line().kind, w.BoundedIntText().kind) == ("HTML", "BoundedIntText")


@pytest.mark.parametrize(("given", "value"), [(-1, 0), (7, 7), (101, 100)])
def test_a_number_stays_within_its_bounds(given, value):
    assert w.BoundedIntText(value=given).value == value


def test_a_menu_keeps_its_value_when_its_choices_change():
    """Where it is still offered; else the first is chosen, and a value that is none of them is refused."""
    menu = w.Dropdown(["a", "b"], value="b")
    menu.options = ["c", "b"]
    assert (menu.value, menu.index) == ("b", 1)
    menu.options = [("one", 1), ("two", 2)]
    assert (menu.value, menu.index, menu.options) == (1, 0, (("one", 1), ("two", 2)))
    with pytest.raises(Exception, match="3 is none of"):
        menu.value = 3
    menu.options = []
    assert (menu.value, menu.index) == (None, -1)


def test_messages_pass_a_running_cell(monkeypatch):
    """Where ipykernel would hand them to the shell that wrote last, they go where the page has sent them."""
    monkeypatch.setattr(Kernel, "initialized", lambda: False)
    for make in (lambda: Whole([w.Button()]), Gantt):
        with monkeypatch.context() as patch:
            patch.setattr(comm, "create_comm", lambda **_: BaseComm())  # a layout has one, too
            made = make()
        made.comm._reply_subshell_id = None  # the main shell
        assert made.comm._reply_subshell_for({}, "of widgets") == "of widgets"
        made.close()


def test_parts_are_widgets():
    """``observe`` and ``hold_sync`` are ipywidgets' own."""
    assert issubclass(w.Control, Widget)


def test_a_whole_can_be_embedded(box):
    """ipywidgets asks for each trait in the state, those of parts too; what is no part is still no attribute."""
    embedded = Whole([box])
    [state] = (each for each in dependency_state([embedded]).values() if each["model_name"] == "AnyModel")
    assert f"{box.model_id}.children" in state["state"]
    with pytest.raises(AttributeError, match="has no attribute"):
        getattr(embedded, "p0.value")
