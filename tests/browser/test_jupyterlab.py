"""The basis of all views: JupyterLab opens, and widgets exchange messages quickly in both directions."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

DOUBLER = '''
import anywidget, traitlets

class Doubler(anywidget.AnyWidget):
    """Sends numbers to Python, which doubles them; says how long each took."""
    _esm = """
    export default { render({ model, el }) {
      el.innerHTML = "<button>run</button><output></output>";
      const [button, output] = el.children;
      button.onclick = async () => {
        const times = [];
        for (let i = 1; i <= 20; i++) {
          const begun = performance.now();
          await new Promise(answered => {
            model.on("change:doubled", () => { model.off("change:doubled"); answered(); });
            model.set("number", i);
            model.save_changes();
          });
          times.push(performance.now() - begun);
        }
        output.dataset.fastest = Math.min(...times);
        output.textContent = model.get("doubled");
      };
    } };
    """
    number = traitlets.Int(0).tag(sync=True)
    doubled = traitlets.Int(0).tag(sync=True)

    @traitlets.observe("number")
    def _double(self, change):
        self.doubled = 2 * change.new

doubler = Doubler()
doubler
'''


def test_widget_round_trip(open_notebook, screenshot):
    """A number set in the browser reaches Python and its double comes back; an expression in the kernel confirms it."""
    notebook = open_notebook([DOUBLER])
    notebook.page.get_by_role("button", name="run", exact=True).click()
    expect(notebook.page.locator("output")).to_have_text("40")
    assert notebook.value("[doubler.number, doubler.doubled]") == [20, 40]
    screenshot("light")
    notebook.set_theme("JupyterLab Dark")
    screenshot("dark")
    notebook.set_theme("JupyterLab Light")


@pytest.mark.alone
@pytest.mark.slow
def test_small_messages_do_not_wait(open_notebook, lab):
    """With the server extension on, a round trip takes less than the 40 ms of one delayed acknowledgement."""
    assert "placelab.app.cli.nodelay | extension was successfully loaded" in lab.log.read_text()
    notebook = open_notebook([DOUBLER])
    notebook.page.get_by_role("button", name="run", exact=True).click()
    output = notebook.page.locator("output")
    expect(output).to_have_text("40")
    assert float(output.get_attribute("data-fastest")) < 40  # ms
