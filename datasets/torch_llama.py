"""Llama by Touvron et al. (2023), in any size, with the loss of predicting the next token."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

TOKENS = 32000
EPSILON = 1e-6
BASE = 10000.0


@dataclass(frozen=True)
class Size:
    """Layers, width of a token, heads, and width of the dense layers."""

    layers: int
    width: int
    heads: int
    inner: int


SIZES = {"7b": Size(32, 4096, 32, 11008), "8 layers": Size(8, 1024, 16, 2816)}


class Norm(nn.Module):
    """Scale to unit mean square, computed in 32 bits."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPSILON)).to(x.dtype)


def rotated(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotate queries or keys by their positions."""
    left, right = x.chunk(2, -1)
    return x * cosine + torch.cat([-right, left], -1) * sine


class Attention(nn.Module):
    """Each token attends to itself and those before it."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.query, self.key, self.value, self.output = (
            nn.Linear(size.width, size.width, bias=False) for _ in range(4)
        )

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        q, k, v = (f(x).view(*x.shape[:2], self.heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        q, k = rotated(q, cosine, sine), rotated(k, cosine, sine)
        return self.output(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))


class Dense(nn.Module):
    """The gated dense layers on each token."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(size.width, size.inner, bias=False) for _ in range(2))
        self.down = nn.Linear(size.inner, size.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    """Attention, then dense layers, each normalised before and with a residual connection."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.norm_1 = Norm(size.width)
        self.attention = Attention(size)
        self.norm_2 = Norm(size.width)
        self.dense = Dense(size)

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        x = x + self.attention(self.norm_1(x), cosine, sine)
        return x + self.dense(self.norm_2(x))


class Llama(nn.Module):
    """Loss of one step of training."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(TOKENS, size.width)
        self.layers = nn.ModuleList(Layer(size) for _ in range(size.layers))
        self.norm = Norm(size.width)
        self.head = nn.Linear(size.width, TOKENS, bias=False)
        half = size.width // size.heads // 2
        self.register_buffer("turns", BASE ** (-torch.arange(half) / half), persistent=False)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        x = self.token(tokens)
        angle = (torch.arange(tokens.shape[1])[:, None] * self.turns).repeat(1, 2)
        cosine = angle.cos().to(x.dtype)
        sine = angle.sin().to(x.dtype)
        for layer in self.layers:
            x = layer(x, cosine, sine)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), targets.flatten())


def model(size: str) -> Llama:
    """A Llama of one of the `SIZES` with random weights."""
    return Llama(SIZES[size])


def batch(sequences: int, tokens: int) -> tuple[Tensor, Tensor]:
    """Random tokens, and those that follow them."""
    text = torch.randint(TOKENS, (sequences, tokens + 1))
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()
