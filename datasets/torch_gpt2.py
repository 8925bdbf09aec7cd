"""GPT-2 (124 million parameters) by Radford et al. (2019), with the loss of predicting the next token."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformer_weights import normal_weights

TOKENS = 50257
POSITIONS = 1024
LAYERS = 12
WIDTH = 768
HEADS = 12
DROPOUT = 0.1
EPSILON = 1e-5


class Attention(nn.Module):
    """Each token attends to itself and those before it."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.project = nn.Linear(WIDTH, WIDTH)
        self.weights_dropout = nn.Dropout(DROPOUT)
        self.dropout = nn.Dropout(DROPOUT)
        self.register_buffer("past", torch.ones(POSITIONS, POSITIONS, dtype=torch.bool).tril(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, _ = x.shape
        q, k, v = (part.view(batch, tokens, HEADS, -1).transpose(1, 2) for part in self.qkv(x).split(WIDTH, -1))
        scores = torch.matmul(q, k.transpose(-1, -2)) / (WIDTH // HEADS) ** 0.5
        scores = scores.masked_fill(~self.past[:tokens, :tokens], torch.finfo(scores.dtype).min)
        seen = torch.matmul(self.weights_dropout(torch.softmax(scores, -1)), v)
        return self.dropout(self.project(seen.transpose(1, 2).reshape(batch, tokens, WIDTH)))


class Block(nn.Module):
    """Attention, then two dense layers on each token, each normalised before and with a residual connection."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_1 = nn.LayerNorm(WIDTH, EPSILON)
        self.attention = Attention()
        self.norm_2 = nn.LayerNorm(WIDTH, EPSILON)
        self.inner = nn.Linear(WIDTH, 4 * WIDTH)
        self.outer = nn.Linear(4 * WIDTH, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm_1(x))
        return x + self.dropout(self.outer(F.gelu(self.inner(self.norm_2(x)), approximate="tanh")))


class Gpt2(nn.Module):
    """Loss of one step of training."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(TOKENS, WIDTH)
        self.position = nn.Embedding(POSITIONS, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH, EPSILON)
        self.head = nn.Linear(WIDTH, TOKENS, bias=False)
        self.head.weight = self.token.weight
        self.register_buffer("positions", torch.arange(POSITIONS), persistent=False)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        x = self.dropout(self.token(tokens) + self.position(self.positions[: tokens.shape[1]]))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


def model() -> Gpt2:
    """GPT-2 with random weights."""
    return Gpt2().apply(normal_weights)


def batch(sequences: int, tokens: int) -> tuple[Tensor, Tensor]:
    """Random tokens, and those that follow them."""
    text = torch.randint(TOKENS, (sequences, tokens + 1))
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()
