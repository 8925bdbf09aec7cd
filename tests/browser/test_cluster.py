"""The cluster canvas in Chromium, with the Python object as its model."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from support import bare_page
from support.boxes import box_of

from placelab.app.widgets.cluster_canvas import ClusterCanvas
from placelab.problem import clusters
from placelab.problem.cluster import Cluster


def key(page: Page, name: str) -> Locator:
    """The element that keeps this name when the canvas is redrawn."""
    return page.locator(f'[data-key="{name}"]')


def settled(page: Page, canvas: ClusterCanvas) -> None:
    """Wait until Python has handled the messages and the browser has drawn the result."""
    page.wait_for_function("() => !model.sent.length || model.get('ack').includes(model.sent.at(-1).seq)")
    bare_page.still(page)
    assert not canvas.dragging


def pull(page: Page, handle: Locator, dx: float, release: bool = True) -> None:
    """Drag `handle` sideways by `dx` pixels in steps, as a user does."""
    box = box_of(handle)
    x = box["x"] + box["width"] / 2
    y = box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx, y, steps=12)
    if release:
        page.mouse.up()


def drop(page: Page, card: Locator, x: float, y: float) -> None:
    """Drag `card` by its name to a point of the page."""
    box = box_of(card)
    page.mouse.move(box["x"] + 30, box["y"] + 12)
    page.mouse.down()
    page.mouse.move(x, y, steps=10)


def host_centre(page: Page, name: str) -> tuple[float, float]:
    box = box_of(page.locator(f'.host[data-host="{name}"] rect'))
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.fixture
def two(page: Page) -> ClusterCanvas:
    """Two hosts with two devices each."""
    canvas = ClusterCanvas(
        Cluster.from_hosts({"a": 2, "b": 2}, memory=16e9, inside=(300e9, 5e-6), between=(12e9, 50e-6))
    )
    bare_page.show(page, canvas)
    return canvas


def test_pulling_a_link_by_a_decade_makes_it_ten_times_as_wide(page: Page, two: ClusterCanvas) -> None:
    """120 pixels are ten times the bandwidth of every link between the hosts, in one step; the value shows."""
    pull(page, key(page, "bandwidth:between a and b"), 120, release=False)
    expect(page.locator(".ruler text.now")).to_have_text("120 GB/s")
    page.mouse.up()
    settled(page, two)
    assert two.value.bandwidth[0, 2] == two.value.bandwidth[3, 1] == 120e9
    assert two.value.bandwidth[0, 1] == 300e9
    page.get_by_role("button", name="Undo").click()
    settled(page, two)
    assert two.value.bandwidth[0, 2] == 12e9 and not two.can_undo
    expect(key(page, "bandwidth:between a and b")).to_have_attribute("aria-valuetext", "12 GB/s")


CHANGED = """() => {
  window.changed = new Set();
  const note = ({ target }) => {
    const place = (target instanceof Element ? target : target.parentElement).closest("[data-key], .link, .host, .diagram");
    changed.add(place.dataset.key ?? place.getAttribute("class"));
  };
  const records = { attributes: true, characterData: true, childList: true, subtree: true };
  new MutationObserver((all) => all.forEach(note)).observe(document.querySelector(".diagram"), records);
}"""


def test_a_drag_changes_what_it_drags(page: Page, two: ClusterCanvas) -> None:
    """Nothing but the value and its link is written anew: the browser would lay all of it out again with each move."""
    handle = key(page, "bandwidth:between a and b")
    pull(page, handle, 40)
    settled(page, two)
    page.evaluate(CHANGED)
    pull(page, handle, 40)
    settled(page, two)
    changed = set(page.evaluate("[...changed].map((what) => what.trim())"))
    assert changed <= {"bandwidth:between a and b", "latency:between a and b", "link"}
    assert "bandwidth:between a and b" in changed


def test_one_message_is_in_flight(page: Page, two: ClusterCanvas) -> None:
    """While Python computes, a newer value of a drag replaces the waiting one, so no queue forms."""
    page.evaluate(
        """() => {
          const save = model.save_changes;
          model.save_changes = async () => {
            await new Promise((done) => setTimeout(done, 150));
            return save();
          };
        }"""
    )
    values = []
    two.observe(lambda change: values.append(change["new"].speed[0]), "value")
    begun = time.monotonic()
    pull(page, key(page, "speed:0"), 60)
    took = time.monotonic() - begun
    page.wait_for_timeout(700)
    settled(page, two)
    assert len(values) <= 3 + took / 0.150
    assert two.value.speed[0] == values[-1] == pytest.approx(1e13 * 10**0.5, rel=0.02)


def test_a_device_goes_into_another_host_and_back(page: Page, two: ClusterCanvas) -> None:
    """The drop target is marked, the links become those of the host, and undo brings place and links back."""
    before = two.value
    at = key(page, "card:0").get_attribute("transform")
    drop(page, key(page, "card:0"), *host_centre(page, "b"))
    expect(page.locator("rect.target")).to_have_count(1)
    bare_page.heard(page)
    assert two.dragging and two.value.hosts[0] == "b"  # followed while the hand is still down
    page.mouse.up()
    settled(page, two)
    assert two.value.bandwidth[0].tolist() == [np.inf, 12e9, 300e9, 300e9]
    page.keyboard.press("Control+z")
    settled(page, two)
    assert two.value is before
    expect(key(page, "card:0")).to_have_attribute("transform", at)


def test_a_device_leaves_its_host(page: Page) -> None:
    """Dropped outside the only host, a device gets its own host and a tenth of its bandwidth."""
    canvas = ClusterCanvas(clusters.pcie_box(4))
    bare_page.show(page, canvas)
    box = box_of(page.locator('.host[data-host="server"] rect'))
    drop(page, key(page, "card:3"), box["x"] + 300, box["y"] + box["height"] + 25)
    page.mouse.up()
    settled(page, canvas)
    assert canvas.value.hosts == ("server", "server", "server", "host0")
    assert canvas.value.bandwidth[3, 0] == 6e8 and canvas.value.bandwidth[0, 1] == 6e9
    expect(page.locator(".host")).to_have_count(2)


def test_within_its_host_a_card_only_changes_its_place(page: Page, two: ClusterCanvas) -> None:
    """A move within a host changes the layout, not the cluster, and can be undone."""
    before = two.value
    other = box_of(key(page, "card:1"))
    drop(page, key(page, "card:0"), other["x"] + 60, other["y"] + 40)
    page.mouse.up()
    settled(page, two)
    assert two.value is before and two.can_undo
    assert two.cluster["order"] == [1, 0, 2, 3]
    page.keyboard.press("Control+z")
    settled(page, two)
    assert two.cluster["order"] == [0, 1, 2, 3]


def test_everything_by_keyboard(page: Page, two: ClusterCanvas) -> None:
    """Tab reaches cards, values and links; keys change, type, move, copy, rename, remove, undo and redo."""
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.key"))
    assert {"card:0", "card:3", "speed:2", "memory:1", "bandwidth:inside a", "latency:between a and b"} <= reached

    key(page, "speed:1").focus()
    page.keyboard.press("ArrowRight")
    settled(page, two)
    assert two.value.speed[1] == 1.1e13
    page.keyboard.press("Enter")
    page.keyboard.type("2.5 TFLOP/s")
    page.keyboard.press("Enter")
    settled(page, two)
    assert two.value.speed[1] == 2.5e12

    key(page, "memory:1").focus()
    page.keyboard.press("End")
    settled(page, two)
    assert two.value.memory[1] == float("inf")
    page.keyboard.press("Control+z")
    settled(page, two)

    key(page, "card:1").focus()
    page.keyboard.press("h")
    settled(page, two)
    assert two.value.hosts == ("a", "b", "b", "b")
    page.keyboard.press("Control+d")
    settled(page, two)
    assert two.value.n_devices == 5 and two.value.speed[4] == 2.5e12
    assert page.evaluate("document.activeElement.dataset.key") == "card:4"
    page.keyboard.press("F2")
    page.keyboard.type("slow one")
    page.keyboard.press("Enter")
    settled(page, two)
    assert two.value.names[4] == "slow one"
    page.keyboard.press("Delete")
    settled(page, two)
    assert two.value.n_devices == 4
    for _ in range(6):
        page.keyboard.press("Control+z")
    settled(page, two)
    assert two.value.speed[1] == 1e13 and not two.can_undo
    page.keyboard.press("Control+Shift+z")
    settled(page, two)
    assert two.value.speed[1] == 1.1e13


def test_a_typed_value_may_carry_a_unit_and_nonsense_is_refused(page: Page, two: ClusterCanvas) -> None:
    """100 Gbit/s are 12.5 GB/s; an invalid bandwidth stays in the field with a sentence and changes nothing."""
    handle = key(page, "bandwidth:inside b")
    handle.focus()
    page.keyboard.press("Enter")
    page.keyboard.type("fast")
    page.keyboard.press("Enter")
    expect(page.locator(".entry [role=alert]")).to_contain_text("Not a bandwidth")
    page.locator(".entry input").fill("100 Gbit/s")
    page.keyboard.press("Enter")
    settled(page, two)
    assert two.value.bandwidth[2, 3] == 12.5e9
    assert two.value.bandwidth[0, 1] == 300e9


def test_the_memory_of_a_card_is_pulled_as_one_step(page: Page, two: ClusterCanvas) -> None:
    """Memory is dragged by its value or its bar; the ruler shows the value; the bar is red if more is in use than there is."""
    two.peak = [12e9, 1e9, 1e9, 1e9]
    bare_page.receive(page, two, "peak")
    expect(key(page, "card:0")).to_have_attribute("data-level", "")
    pull(page, key(page, "memory:0"), -120, release=False)
    expect(page.locator(".ruler text.now")).to_have_text("1.6 GB")
    expect(key(page, "card:0")).to_have_attribute("data-level", "over")
    page.mouse.up()
    settled(page, two)
    assert two.value.memory.tolist() == [1.6e9, 16e9, 16e9, 16e9]
    pull(page, key(page, "card:0").locator(".hold"), 120)
    settled(page, two)
    assert two.value.memory[0] == 16e9
    expect(key(page, "card:0")).to_have_attribute("aria-label", re.compile("memory 12 GB of 16 GB"))
    for before in (1.6e9, 16e9):
        page.get_by_role("button", name="Undo").click()
        settled(page, two)
        assert two.value.memory[0] == before
    assert not two.can_undo


def test_memory_goes_over_into_unlimited_and_back(page: Page, two: ClusterCanvas) -> None:
    """By dragging past the end, typing and keys; unlimited memory is shown as a word."""
    handle = key(page, "memory:2")
    pull(page, handle, 230, release=False)
    expect(page.locator(".ruler text.now")).to_have_text("unlimited")
    page.mouse.up()
    settled(page, two)
    assert np.isinf(two.value.memory[2])
    expect(handle).to_have_attribute("aria-valuetext", "unlimited")
    expect(handle).to_have_attribute("role", "slider")
    pull(page, handle, -240)
    settled(page, two)
    assert two.value.memory[2] == 10e9
    handle.focus()
    page.keyboard.press("Enter")
    page.keyboard.type("unlimited")
    page.keyboard.press("Enter")
    settled(page, two)
    assert np.isinf(two.value.memory[2])
    page.keyboard.press("PageDown")
    settled(page, two)
    assert two.value.memory[2] == 500e9
    page.keyboard.press("Enter")
    page.keyboard.type("24 GB")
    page.keyboard.press("Enter")
    settled(page, two)
    assert two.value.memory[2] == 24e9


def test_cards_beside_a_matrix_have_memory_too(page: Page, screenshot) -> None:
    """The bar is a slider, set by dragging, keys or typing, also from unlimited."""
    canvas = ClusterCanvas(
        Cluster.from_hosts({"a": 8, "b": 8}, memory=16e9, inside=(300e9, 5e-6), between=(12e9, 50e-6))
    )
    bare_page.show(page, canvas)
    canvas.peak = [2e9 * i for i in range(16)]
    bare_page.receive(page, canvas, "peak")
    expect(key(page, "card:9")).to_have_attribute("data-level", "over")
    screenshot("bars")
    bar = key(page, "memory:9")
    expect(bar).to_have_attribute("aria-valuetext", "16 GB")
    pull(page, bar, 60)
    settled(page, canvas)
    assert canvas.value.memory[9] == pytest.approx(16e9 * 10**0.5, rel=0.02)
    expect(key(page, "card:9")).to_have_attribute("data-level", "")
    bar.focus()
    page.keyboard.press("ArrowLeft")
    settled(page, canvas)
    assert canvas.value.memory[9] < 47e9
    page.keyboard.press("Enter")
    page.keyboard.type("∞")
    page.keyboard.press("Enter")
    settled(page, canvas)
    assert np.isinf(canvas.value.memory[9])
    key(page, "card:9").focus()
    page.keyboard.press("m")
    page.keyboard.type("8 GB")
    page.keyboard.press("Enter")
    settled(page, canvas)
    assert canvas.value.memory[9] == 8e9


def test_a_host_is_renamed_where_its_name_stands(page: Page, two: ClusterCanvas) -> None:
    """By keyboard or double-click; the focus stays on the name; a name in use is refused in place."""
    key(page, "host:a").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("rack 1")
    page.keyboard.press("Enter")
    settled(page, two)
    assert two.value.hosts == ("rack 1", "rack 1", "b", "b")
    assert page.evaluate("document.activeElement.dataset.key") == "host:rack 1"
    key(page, "host:b").dblclick()
    page.keyboard.type("rack 1")
    page.keyboard.press("Enter")
    settled(page, two)
    expect(page.locator(".error")).to_contain_text("another host is called 'rack 1'")
    assert two.value.hosts[2] == "b"


def test_a_bare_number_takes_the_unit_that_stood_there(page: Page, two: ClusterCanvas) -> None:
    """20 typed over 10 TFLOP/s are 20 TFLOP/s."""
    key(page, "speed:0").dblclick()
    page.keyboard.type("20")
    page.keyboard.press("Enter")
    settled(page, two)
    assert two.value.speed[0] == 20e12


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_who_shares_a_link(page: Page, screenshot, theme: str) -> None:
    """Its sign is on cards, its colour on wires; pointed at, it shows the pairs; its bandwidth is pulled, typed and undone."""
    links = {"card of a": (12e9, [("a", "b"), ("b", "a")]), "bus of b": (8e9, [("b", "b")])}
    shared = Cluster.from_hosts({"a": 2, "b": 2}, inside=(300e9, 5e-6), between=(12e9, 50e-6)).replace(links=links)
    canvas = ClusterCanvas(shared)
    bare_page.show(page, canvas, theme)
    value = key(page, "shared:card of a")
    expect(value).to_have_attribute("aria-valuetext", "12 GB/s")
    expect(page.locator(".card .sign text")).to_have_text(["A", "A", "A", "B", "A", "B"])
    expect(page.locator("path.dashes")).to_have_count(2)  # each on the one wire that carries all its pairs
    page.get_by_role("group", name="shared link bus of b, shared between b/gpu:0 → b/gpu:1").hover()
    expect(page.locator(".pointed path")).to_have_count(2)
    expect(page.locator(".card.sharing")).to_have_count(2)
    screenshot(theme)
    pull(page, value, 120)
    settled(page, canvas)
    assert [link.bandwidth for link in canvas.value.links] == [120e9, 8e9]
    page.mouse.move(5, 5)
    expect(page.locator(".card.sharing")).to_have_count(4)
    value.press("Enter")
    page.keyboard.type("100 Gbit/s")
    page.keyboard.press("Enter")
    settled(page, canvas)
    assert canvas.value.links[0].bandwidth == 12.5e9
    for _ in range(2):
        page.get_by_role("button", name="Undo").click()
        settled(page, canvas)
    assert canvas.value is shared and not canvas.can_undo
    page.get_by_role("button", name="Draw devices and the matrix").click()
    settled(page, canvas)
    expect(page.locator(".dashes, .card .sign")).to_have_count(0)
    value.hover()
    expect(page.locator(".card.sharing")).to_have_count(4)
    canvas.sharing = False
    bare_page.receive(page, canvas, "sharing")
    expect(value).to_have_attribute("aria-disabled", "true")
    expect(value).to_have_attribute("aria-valuetext", re.compile("only the transfer model fair"))


def rect(locator: Locator) -> tuple[float, float, float, float]:
    """Left, top, right, bottom."""
    box = box_of(locator)
    return box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]


def inside(inner: tuple[float, ...], outer: tuple[float, ...], slack: float = 0.5) -> bool:
    (left, top, right, bottom), (x, y, end, low) = inner, outer
    return x - slack <= left and right <= end + slack and y - slack <= top and bottom <= low + slack


@pytest.mark.slow
@pytest.mark.parametrize("width", [640, 1376, 300])
def test_what_floats_stays_inside_the_panel_and_off_its_buttons(page: Page, width: int) -> None:
    """The field, its sentence, the ruler and its bubble stay visible for any value and length of a drag."""
    canvas = ClusterCanvas(clusters.pcie_box(4))
    bare_page.show(page, canvas)
    page.evaluate("width => (document.querySelector('.cluster').parentElement.style.width = `${width}px`)", width)
    page.wait_for_timeout(100)
    buttons = rect(page.locator(".toolbar"))
    panel = rect(page.locator(".cluster"))
    room = (panel[0], buttons[3], panel[2], panel[3])
    for name in ("bandwidth:inside server", "latency:inside server", "speed:0", "memory:0", "speed:3", "memory:3"):
        for pixels in (90, 700, -700):
            pull(page, key(page, name), pixels, release=False)
            for part in (".ruler", ".ruler rect.now", ".ruler text.now"):
                assert inside(rect(page.locator(part)), room), (name, pixels, part)
            page.keyboard.press("Escape")
            page.mouse.up()
        settled(page, canvas)
        key(page, name).focus()
        page.keyboard.press("Enter")
        page.keyboard.type("-1")
        page.keyboard.press("Enter")
        expect(page.locator(".entry [role=alert]")).to_contain_text("must ")
        for part in (".entry input", ".entry [role=alert]"):
            assert inside(rect(page.locator(part)), room), (name, part)
        page.keyboard.press("Escape")


def test_a_ruler_is_whole_in_what_can_be_seen_of_a_scrolled_panel(page: Page, two: ClusterCanvas) -> None:
    """If the canvas is scrolled half out of its pane, the ruler stays within the visible half."""
    page.wait_for_selector(".card")
    page.evaluate(
        """() => {
          const pane = document.querySelector('.cluster').parentElement;
          pane.style.cssText = 'height:160px;overflow:auto';
          const top = (element) => element.getBoundingClientRect().top;
          pane.scrollTop = top(document.querySelector('[data-key="speed:0"]')) - top(pane) - 12;
        }"""
    )
    pull(page, key(page, "speed:0"), 60, release=False)
    pane = rect(page.locator("div:has(> .cluster)"))
    assert inside(rect(page.locator(".ruler")), pane)
    page.mouse.up()
    settled(page, two)


def test_a_refused_edit_says_why_and_changes_nothing(page: Page) -> None:
    """The last device cannot be removed: a sentence in place says so until the next edit."""
    canvas = ClusterCanvas(clusters.uniform(1))
    bare_page.show(page, canvas)
    key(page, "card:0").focus()
    page.keyboard.press("Delete")
    expect(page.locator(".error")).to_contain_text("last device")
    assert canvas.value.n_devices == 1
    page.get_by_role("button", name="Add a device to").click()
    settled(page, canvas)
    assert canvas.value.n_devices == 2
    expect(page.locator(".error")).to_be_hidden()


@pytest.mark.slow
def test_the_matrix_of_fifty_devices(page: Page) -> None:
    """Drags and keys change cells, rows and the whole matrix; hover and live line describe them."""
    canvas = ClusterCanvas(clusters.mayer50(seed=0))
    bare_page.show(page, canvas)
    before = canvas.value.bandwidth
    expect(page.locator(".card")).to_have_count(50)
    matrix = page.locator(".matrix canvas")
    box = box_of(matrix)
    side = page.evaluate(
        "() => { const c = document.querySelector('.matrix canvas').getBoundingClientRect(); return c.width }"
    )
    cell = (side - 2 - 46) / 50
    middle = lambda row, column: (box["x"] + 46 + (column + 0.5) * cell, box["y"] + 46 + (row + 0.5) * cell)  # noqa: E731

    page.mouse.move(*middle(3, 7))
    expect(page.locator(".tip")).to_have_text(f"from dev3 to dev7: {before[3, 7]:.0f}")
    page.mouse.down()
    page.mouse.move(middle(3, 7)[0] + 120, middle(3, 7)[1], steps=8)
    page.mouse.up()
    settled(page, canvas)
    assert canvas.value.bandwidth[3, 7] == 10 * before[3, 7]
    assert canvas.value.bandwidth[7, 3] == before[7, 3]

    page.mouse.move(box["x"] + 20, middle(5, 0)[1])  # the header of a row
    page.mouse.down()
    page.mouse.move(box["x"] + 20 - 120, middle(5, 0)[1], steps=8)
    page.mouse.up()
    settled(page, canvas)
    off = np.arange(50) != 5
    np.testing.assert_allclose(canvas.value.bandwidth[5, off], before[5, off] / 10)

    matrix.focus()
    page.keyboard.press("c")  # the column of the cursor
    page.keyboard.press("Home")
    page.keyboard.press("PageUp")
    settled(page, canvas)
    expect(page.locator(".status")).to_contain_text("from all to dev0")
    np.testing.assert_allclose(
        canvas.value.bandwidth[1:, 0] / np.delete(before[:, 0], 0), [2.0] * 4 + [0.2] + [2.0] * 44
    )


@pytest.mark.parametrize("view", ["auto", pytest.param("grid", marks=pytest.mark.slow)])
def test_a_smaller_cluster_under_a_resting_pointer(page: Page, view: str) -> None:
    """A smaller cluster, shown while a cell has focus and hover, also by undo and redo, raises no error and clears the hover."""
    canvas = ClusterCanvas(clusters.mayer50(seed=0))
    bare_page.show(page, canvas)
    page.wait_for_selector(".matrix canvas")
    small = ClusterCanvas(clusters.pcie_box(4))
    for other in (small, ClusterCanvas(clusters.mayer50(seed=0)), small):
        if page.locator(".matrix canvas").count():
            box = box_of(page.locator(".matrix canvas"))
            page.mouse.click(box["x"] + box["width"] - 8, box["y"] + box["height"] - 60)
            expect(page.locator(".tip")).to_be_visible()
        canvas.value = other.value
        canvas.cluster = {**canvas.cluster, "view": view}
        bare_page.receive(page, canvas, "cluster")
        expect(page.locator(".card")).to_have_count(canvas.value.n_devices)
        expect(page.locator(".tip")).to_be_hidden()
    page.mouse.move(5, 5)
    page.wait_for_timeout(100)


def test_the_status_line_speaks_of_the_cluster_shown(page: Page, two: ClusterCanvas) -> None:
    """A message about an edit stays when Python answers it, and disappears when another cluster comes."""
    status = page.locator(".status")
    idle = status.text_content()
    key(page, "card:0").focus()
    page.keyboard.press("h")
    settled(page, two)
    expect(status).to_have_text(f"{two.value.names[0]} moved to b")
    two.value = clusters.pcie_box(4)  # as a picker would, or an undo elsewhere
    bare_page.receive(page, two, "cluster", "can_undo")
    expect(status).to_have_text(idle)
    page.get_by_role("button", name="Undo").click()
    settled(page, two)
    expect(status).to_have_text("undone")


def test_a_device_gripped_anywhere_can_be_carried(page: Page, two: ClusterCanvas) -> None:
    """By the middle of its card in any direction; by a value if the drag starts vertically, and then the value stays."""
    page.wait_for_selector(".card")
    speeds = two.value.speed.copy()
    for name, onto in (("card:0", "b"), ("speed:0", "a"), ("memory:0", "b")):
        bare_page.still(page)  # cards glide to their places
        x, y = host_centre(page, onto)
        box = box_of(key(page, name))
        start = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(*start)
        page.mouse.down()
        first = (20, 2) if name == "card:0" else (2, 20)
        page.mouse.move(start[0] + first[0], start[1] + first[1], steps=6)
        page.mouse.move(x, y, steps=8)
        expect(page.locator(".ruler")).to_be_hidden()
        page.mouse.up()
        settled(page, two)
        assert two.value.hosts[int(name[-1])] == onto, name
    assert two.value.speed.tolist() == speeds.tolist()
    bare_page.still(page)
    pull(page, key(page, "speed:1"), 120)
    settled(page, two)
    assert two.value.speed[1] == 10 * speeds[1]


def test_both_drawings_serve_any_cluster(page: Page, two: ClusterCanvas) -> None:
    """In a small cluster's matrix, drags change host blocks; the drawing with links then shows the value."""
    page.get_by_role("button", name="Draw devices and the matrix").click()
    settled(page, two)
    page.get_by_label("links that change together").select_option("block")
    matrix = page.locator(".matrix canvas")
    matrix.focus()
    for press in ("ArrowDown", "ArrowDown", "ArrowLeft", "PageUp"):
        page.keyboard.press(press)
    settled(page, two)
    assert two.value.bandwidth[2:, :2].tolist() == [[24e9, 24e9], [24e9, 24e9]]
    assert two.value.bandwidth[0, 2] == 12e9
    page.get_by_role("button", name="Draw hosts").click()
    settled(page, two)
    expect(key(page, "bandwidth:between a and b")).to_have_attribute("aria-valuetext", "12–24 GB/s")
    pull(page, key(page, "bandwidth:between a and b"), -120)
    settled(page, two)
    np.testing.assert_allclose(two.value.bandwidth[[2, 0], [0, 2]], [2.4e9, 1.2e9])


def test_names_are_text(page: Page) -> None:
    """A hostile device name is shown as text and runs no code."""
    name = "<img src=x onerror=alert(1)>"
    canvas = ClusterCanvas(Cluster(speed=[1.0, 1.0], names=[name, "b"], types=["<b>", "t"], hosts=["<i>h", "<i>h"]))
    bare_page.show(page, canvas)
    expect(key(page, "card:0")).to_have_attribute("aria-label", f"{name}, <b> on <i>h, speed 1")
    assert page.locator("img, i, b").count() == 0


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize("preset", ["pcie_box", "nvlink_box", "two_nodes", "parameter_server", "mayer50"])
def test_every_preset_is_drawn_inside_the_canvas(page: Page, screenshot, preset: str, theme: str) -> None:
    """All cards lie within the widget without overlap; a picture of each preset is kept."""
    canvas = ClusterCanvas(clusters.preset(preset))
    bare_page.show(page, canvas, theme)
    page.wait_for_selector(".card")
    boxes = page.locator(".card .plate").evaluate_all(
        """cards => cards.map((card) => {
          const {x, y, width, height} = card.getBoundingClientRect();
          return [x, y, x + width, y + height];
        })"""
    )
    assert len(boxes) == canvas.value.n_devices
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert 12 <= left and right <= 1388 and top >= 12
        assert not any(l < right and left < r and t < bottom and top < b for l, t, r, b in boxes[i + 1 :])  # noqa: E741
    screenshot(f"{preset}-{theme}", page.locator(".cluster"))


def test_in_jupyterlab_the_hand_and_the_kernel_agree(open_notebook, screenshot) -> None:
    """Dragged links and moved devices reach the kernel; the notebook receives no key; the dark theme is followed."""
    cells = [
        "from placelab import clusters",
        "from placelab.app.widgets import ClusterCanvas",
        "canvas = ClusterCanvas(clusters.two_nodes(2))\ncanvas",
    ]
    notebook = open_notebook(["\n".join(cells)])
    page = notebook.page
    handle = key(page, "bandwidth:between node0 and node1")
    pull(page, handle, 120)
    expect(handle).to_have_attribute("aria-valuetext", "125 GB/s")
    until = time.monotonic() + 30  # what a hand does reaches the kernel beside what a cell asks it
    while notebook.value("canvas.value.bandwidth[0, 2]") != 125e9:
        assert time.monotonic() < until
        page.wait_for_timeout(50)
    key(page, "card:0").focus()
    page.keyboard.press("h")
    expect(key(page, "card:0")).to_have_attribute("aria-label", re.compile("on node1"))
    expect(key(page, "card:0")).to_be_focused()
    assert notebook.value("list(canvas.value.hosts)") == ["node1", "node0", "node1", "node1"]
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    for place in (key(page, "card:0"), handle, page.locator('[data-action="grid"]'), page.locator(".cluster")):
        place.focus()
        for press in "baddxv":  # would add, cut and paste cells, did the notebook see it
            page.keyboard.press(press)
    page.wait_for_timeout(200)
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells
    key(page, "card:0").focus()
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    expect(handle).to_have_attribute("aria-valuetext", "12.5 GB/s")
    assert notebook.value("[*canvas.value.hosts, canvas.can_undo]") == ["node0", "node0", "node1", "node1", False]
    screenshot("light", page.locator(".placelab.cluster"))
    notebook.set_theme("JupyterLab Dark")
    expect(page.locator(".placelab.cluster")).to_have_attribute("data-theme", "dark")
    screenshot("dark", page.locator(".placelab.cluster"))
    notebook.set_theme("JupyterLab Light")


BUSY = """([scope, devices, links]) => {  // what a chart publishes while it plays, from inside or outside the canvas's explorer
  const chart = document.body.appendChild(document.createElement("div"));
  if (scope) chart.className = scope;
  chart.dispatchEvent(new CustomEvent("placelab-activity", {bubbles: true, detail: {devices, links}}));
}"""


def test_cards_light_up_and_links_carry_while_a_schedule_is_played(page, two, screenshot):
    """As a chart of the same explorer says; charts of another one are not heard."""
    expect(page.locator(".card")).to_have_count(4)
    page.evaluate(BUSY, ["", [1, 2], [[0, 3]]])
    expect(page.locator(".card.active")).to_have_count(2)
    expect(key(page, "card:1")).to_have_class(re.compile("active"))
    expect(page.locator(".link.carries")).to_have_count(1)
    screenshot("busy")
    page.evaluate(BUSY, ["placelab-explorer", [0, 1, 2, 3], []])
    expect(page.locator(".card.active")).to_have_count(2)
    page.evaluate(BUSY, ["", [], []])
    expect(page.locator(".active, .carries, .playing")).to_have_count(0)


def test_nothing_lies_on_a_name_or_an_amount(page: Page) -> None:
    """In half of a small window: a host's name is above its bus, and bytes that are too many end before the capacity."""
    memory = [11e9, 256e9, 11e9, 11e9]
    canvas = ClusterCanvas(Cluster.from_hosts({"server": 4}, memory=11e9, inside=(15.8e9, 1e-5)).replace(memory=memory))
    canvas.peak = [41.6e9, 575e6, 1.3e9, 41.6e9]
    page.set_viewport_size({"width": 570, "height": 260})
    bare_page.show(page, canvas)
    bare_page.still(page)
    name = box_of(page.locator(".host-name"))
    bus = page.locator(".link .wire").first
    top = box_of(bus)["y"] - float(bus.get_attribute("stroke-width") or 0) / 2
    assert name["y"] + name["height"] - 3 <= top  # below the line of letters there is room for those that go deeper
    for device in range(4):
        card = key(page, f"card:{device}")
        amount = box_of(card.locator("text.amount"))
        pill = box_of(card.locator(".pill.memory rect"))
        assert amount["x"] + amount["width"] <= pill["x"] + 0.5, device
