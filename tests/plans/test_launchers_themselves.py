"""PyTorch's own pipelines cut a model where the exported split points say."""

from __future__ import annotations

import json

import pytest

import placelab as pl
from placelab.plans.launchers import torch_points

SMALL = dict(hidden_size=8, num_attention_heads=2, intermediate_size=16, vocab_size=32, num_hidden_layers=6)


def test_pytorch_begins_its_stages_at_the_points():
    """Each stage of torch.distributed.pipelining has the parameters of its layers, and no other."""
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    pipelining = pytest.importorskip("torch.distributed.pipelining")
    nn = torch.nn

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed_tokens = nn.Embedding(32, 8)
            self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(6)])
            self.norm = nn.LayerNorm(8)

        def forward(self, ids):
            x = self.embed_tokens(ids)
            for layer in self.layers:
                x = x + layer(x)
            return self.norm(x)

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = Inner()
            self.lm_head = nn.Linear(8, 32)

        def forward(self, ids):
            return self.lm_head(self.model(ids))

    model = pl.models.read({"model_type": "llama", **SMALL})
    for borders in ({0: 1, 1: 3}, {0: 0, 1: 4}, {0: 2, 1: 6}):
        split = pl.split_layers(model, pl.costs.cluster("h100", 3), fixed=borders, sequence=8)
        text = pl.export.torch_split_points(split)
        points = {name: pipelining.SplitPoint.BEGINNING for name in json.loads(text)}
        whole = pipelining.pipeline(Decoder(), mb_args=(torch.zeros(2, 4, dtype=torch.long),), split_spec=points)
        parts = torch_points.read_points(text, model)
        assert whole.num_stages == len(parts) == 3
        for stage, modules in enumerate(parts):
            names = [name for name, _ in whole.get_stage_module(stage).named_parameters()]
            assert {name.rpartition(".")[0] for name in names} == set(modules)
