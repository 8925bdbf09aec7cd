"""A decoder's layers as a strip over the devices, with their seconds and memory. Traits only."""

from __future__ import annotations

from pathlib import Path

import traitlets

from placelab.app.widgets.whole import View


class LayerStrip(View):
    """A cell per layer, coloured by device, and a row of bars per device; a hand drags the borders.

    Attributes
    ----------
    devices
        Their names.
    borders
        First block of each device, and the number of blocks: embedding, layers, head.
    limits
        Of each border the least and the most block that it can be put before so that everything fits.
    sizes
        Width of each block: its bytes or its seconds.
    rows
        Of each device ``seconds``, ``parts``: pairs of category and bytes, ``capacity`` [bytes], None where it is unlimited, and
        ``lacks`` [bytes], 0 where it fits.
    best
        Seconds of the slowest device of the best split, a line through the bars.
    now, said
        What the split comes to, in a word and in a line.
    of
        What the seconds are of: ``"time per token"``.
    ghosts
        The best splits: ``objective``, ``label``, ``value`` (a text), ``borders``.
    asked
        Where a hand wants a border, set by the browser: ``border``, ``to`` (a block), and ``drag``, a number that grows from one
        movement of a hand to the next; or ``best``, the objective whose best split it wants, and ``drag``.
    launching
        Whether what to type is shown, set by the browser, too.
    launch
        What to type: ``name``, ``where``, ``text``, ``why`` there is none.
    message
        Why there is no strip; "" when there is one.

    Examples
    --------
    >>> LayerStrip(devices=["gpu:0"], borders=[0, 4])
    LayerStrip(4 blocks on 1 devices)
    """

    _esm = Path(__file__).parent / "static" / "layers.js"

    devices = traitlets.List(traitlets.Unicode()).tag(sync=True)
    borders = traitlets.List(traitlets.Int()).tag(sync=True)
    limits = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True)
    sizes = traitlets.List(traitlets.Float()).tag(sync=True)
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    best = traitlets.Float(0.0).tag(sync=True)
    now = traitlets.Unicode("").tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)
    of = traitlets.Unicode("").tag(sync=True)
    ghosts = traitlets.List(traitlets.Dict()).tag(sync=True)
    launching = traitlets.Bool(False).tag(sync=True)
    launch = traitlets.List(traitlets.Dict()).tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)
    message = traitlets.Unicode("").tag(sync=True)

    def __repr__(self) -> str:
        return f"LayerStrip({self.borders[-1] if self.borders else 0} blocks on {len(self.devices)} devices)"
