"""Show a widget on a page without Jupyter: the built module, with the Python object as its model."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import anywidget
from playwright.sync_api import Page

from placelab.app.widgets.whole import UNSENT

MODEL = """async ([source, traits, theme]) => {
  document.body.replaceChildren();
  document.body.style.cssText = `margin:12px;font-family:sans-serif;background:${theme === "dark" ? "#111" : "#fff"}`;
  document.body.dataset.jpThemeLight = String(theme !== "dark");
  const url = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
  const {default: widget} = await import(url);
  const revive = (value) => value?.base64 === undefined ? value
    : new DataView(Uint8Array.from(atob(value.base64), (c) => c.charCodeAt(0)).buffer);
  const known = structuredClone(traits), values = {};  // as Python wrote them, and as the widget reads them
  for (const name in known) values[name] = revive(known[name]);
  const listeners = {}, changed = {};
  const fire = (event, ...said) => (listeners[event] ?? []).forEach((then) => then(...said));
  const ask = (changes, command) => {
    const answer = window.toPython(changes, command).then(model.receive);
    model.answered = Promise.all([model.answered, answer]);
    return answer;
  };
  const model = window.model = {
    sent: [],  // edits and commands
    get: (name) => values[name],
    set: (name, value) => { known[name] = values[name] = changed[name] = value; fire(`change:${name}`); },
    on: (event, then) => (listeners[event] ??= []).push(then),
    off: (event, then) => { listeners[event] = (listeners[event] ?? []).filter((other) => other !== then); },
    answered: Promise.resolve(),  // once Python has answered all that was sent
    save_changes() {
      const changes = {...changed};
      for (const name in changed) delete changed[name];
      if (changes.edit) model.sent.push(changes.edit);
      return ask(changes, null);
    },
    send(command) {
      model.sent.push(command);
      ask({}, command);
    },
    tell: (message) => fire("msg:custom", message, []),  // a message of Python's
    receive(news) {
      const fresh = Object.keys(news).filter((name) => JSON.stringify(news[name]) !== JSON.stringify(known[name]));
      for (const name of fresh) values[name] = revive(known[name] = news[name]);
      for (const name of fresh) fire(`change:${name}`);
    },
  };
  const el = document.createElement("div");
  document.body.append(el);
  window.unmount = await widget.render({model, el});
}"""

STILL = """async () => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  // A note that leaves after a while is at rest until then: it would be waited for twelve seconds.
  const rests = ({animationName, effect}) => animationName !== "pl-leaves" && effect.getComputedTiming().endTime < Infinity;
  await Promise.allSettled(document.getAnimations().filter(rests).map((animation) => animation.finished));
}"""

HEARING: WeakKeyDictionary[Page, Callable[..., dict[str, Any]]] = WeakKeyDictionary()


def show(page: Page, widget: anywidget.AnyWidget, theme: str = "light") -> None:
    """Put `widget` on the empty page, and synchronise its traits between browser and Python."""

    def to_python(changes: dict[str, Any], command: dict[str, Any] | None) -> dict[str, Any]:
        for name, value in changes.items():
            if "." in name:
                widget.set_state({name: value})
            else:
                setattr(widget, name, value)
        if command is not None:
            widget._handle_custom_msg(command, [])
        return {name: value for name, value in plain(widget).items() if name != "edit"}

    if page not in HEARING:
        page.expose_function("toPython", lambda *given: HEARING[page](*given))
    HEARING[page] = to_python
    page.evaluate(MODEL, [str(widget._esm), plain(widget), theme])


def plain(widget: anywidget.AnyWidget) -> dict[str, Any]:
    """The traits as the page gets them; those of parts, too, where it is a whole."""
    state = widget.get_state().items()
    return {name: portable(value) for name, value in state if not name.startswith("_") and name not in UNSENT}


def heard(page: Page) -> None:
    """Wait until Python has heard, and the page has its answer to, all that the widget has sent."""
    page.evaluate("async () => { for (let last; last !== window.model?.answered; ) await (last = model.answered); }")


def still(page: Page) -> None:
    """Wait until the page has drawn what it knows, and what moves or changes its colour has come to rest."""
    page.evaluate(STILL)


def portable(value: Any) -> Any:
    """Make a trait's value portable for the browser's driver; the page makes a DataView of bytes, as for a kernel's message."""
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def receive(page: Page, widget: anywidget.AnyWidget, *names: str) -> None:
    """Send traits that Python changed, as the kernel does."""
    page.evaluate("news => model.receive(news)", {name: portable(getattr(widget, name)) for name in names})
