"""Small PyTorch modules for tests; import after ``pytest.importorskip("torch")``."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install placelab[torch]")


class Block(torch.nn.Module):
    """Attention with a buffer, a parameter and dropout."""

    def __init__(self, width: int = 32):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.dropout = torch.nn.Dropout(0.1)
        self.scale = torch.nn.Parameter(torch.ones(width))
        self.register_buffer("shift", torch.zeros(width))

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(*x.shape[:2], 4, -1).transpose(1, 2).chunk(3, -1)
        seen = torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        return x + self.dropout(self.out(seen)) * self.scale + self.shift


class Model(torch.nn.Module):
    """Two blocks between an embedding and a head that share their weights; returns the loss."""

    def __init__(self, width: int = 32):
        super().__init__()
        self.token = torch.nn.Embedding(50, width)
        self.h = torch.nn.ModuleList([Block(width), Block(width)])
        self.head = torch.nn.Linear(width, 50, bias=False)
        self.head.weight = self.token.weight

    def forward(self, tokens, targets):
        x = self.token(tokens)
        for block in self.h:
            x = block(x)
        return torch.nn.functional.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())


def called(batch: int = 2, tokens: int = 6):
    """Arguments of the model."""
    return torch.zeros(batch, tokens, dtype=torch.long), torch.ones(batch, tokens, dtype=torch.long)


class Convolutions(torch.nn.Module):
    """A residual network of two convolutions with batch normalisation."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.second = torch.nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(8)
        self.classes = torch.nn.Linear(8, 10)

    def forward(self, images):
        x = torch.relu(self.first(images))
        x = torch.relu(x + self.norm(self.second(x)))
        return self.classes(torch.nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


def images():
    """Arguments of the convolutions."""
    return (torch.randn(2, 3, 8, 8),)
