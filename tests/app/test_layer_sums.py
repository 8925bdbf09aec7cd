"""A border that a hand moves: the page sums up seconds and bytes of devices to the last digit as the library does."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import placelab as pl
from placelab.app.explorer.panels.layers_panel import rows
from placelab.app.explorer.spreads import Layers

WIDGETS = Path(__file__).parents[2] / "widgets"
RUN = f"""import {{ readFileSync }} from "node:fs";
import {{ rowsOf }} from "{WIDGETS}/layers/sums.ts";
const tasks = JSON.parse(readFileSync(process.argv[2], "utf-8"));
console.log(JSON.stringify(tasks.map(([facts, borders]) => rowsOf(facts, borders))));
"""
LONG = dict(
    model_type="llama", hidden_size=96, num_hidden_layers=700, num_attention_heads=4, intermediate_size=200,
    vocab_size=1000, tie_word_embeddings=True,
)  # fmt: skip
QUESTIONS = (
    dict(phase="decode", context=777, batch=3),
    dict(phase="prefill", sequence=900, headroom=0.1),
    dict(phase="train", sequence=512, microbatches=5),
)


def summed(tasks: list, folder: Path) -> list[list[dict]]:
    """What the page makes of facts and borders."""
    node = shutil.which("node")
    esbuild = WIDGETS / "node_modules" / ".bin" / "esbuild"
    if node is None or not esbuild.exists():
        pytest.skip("the front end cannot be built on this machine")
    source = folder / "run.mjs"
    module = folder / "built.mjs"
    given = folder / "tasks.json"
    source.write_text(RUN, encoding="utf-8")
    given.write_text(json.dumps(tasks), encoding="utf-8")
    subprocess.run([esbuild, source, "--bundle", "--platform=node", "--format=esm", f"--outfile={module}"],
                   check=True, capture_output=True, timeout=60)  # fmt: skip
    done = subprocess.run([node, module, given], check=True, capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)


def test_borders_anywhere(tmp_path):
    """Decode, prefill, training; equal and mixed layers; tied, long, unlimited: every row is that of the library."""
    rng = np.random.default_rng(4)
    tasks = []
    expected = []
    for model in ("llama-3.1-70b", "gemma-2-9b", "deepseek-v2-lite", LONG):
        read = pl.models.read(model)
        for devices in (1, 2, 5):
            speed = rng.uniform(1e13, 3e14, devices)
            memory = np.where(rng.random(devices) < 0.3, np.inf, rng.uniform(1e9, 1e11, devices))
            links = rng.uniform(1e9, 1e11, (devices, devices))
            types = rng.choice(["h100", "a100", "t4"], devices).tolist()
            cluster = pl.Cluster(speed, memory=memory, bandwidth=links, types=types, latency=1e-5)
            for question in QUESTIONS:
                layers = Layers(read, "", **question)
                blocks = read.layers + 2
                inner = np.sort(rng.choice(np.arange(1, blocks), devices - 1, replace=False)).tolist()
                split = replace(layers, borders=(0, *inner, blocks)).split(cluster)
                assert split.borders == (0, *inner, blocks)
                tasks.append([layers.facts(cluster), split.borders])
                expected.append(json.loads(json.dumps(rows(split, 1 - layers.headroom))))
    assert summed(tasks, tmp_path) == expected
    assert any(row["lacks"] for found in expected for row in found)
