"""T5-small by Raffel et al. (2020): encoder and decoder, relative positions, one embedding for inputs and outputs."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

TOKENS = 32128
LAYERS = 6
WIDTH = 512
HEADS = 8
HEAD_WIDTH = 64
INNER = 2048
BUCKETS = 32
FARTHEST = 128
DROPOUT = 0.1
EPSILON = 1e-6


class Norm(nn.Module):
    """Scale to unit mean square, without shift."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON))


class Positions(nn.Module):
    """Bias of attention by the distance of two tokens: near distances have a bucket each, far ones share buckets."""

    def __init__(self, both_ways: bool) -> None:
        super().__init__()
        self.both_ways = both_ways
        self.bias = nn.Embedding(BUCKETS, HEADS)

    def forward(self, queries: int, keys: int) -> Tensor:
        distance = torch.arange(keys)[None, :] - torch.arange(queries)[:, None]
        return self.bias(self.buckets(distance)).permute(2, 0, 1)[None]

    def buckets(self, distance: Tensor) -> Tensor:
        count = BUCKETS // 2 if self.both_ways else BUCKETS
        first = (distance > 0).long() * count if self.both_ways else torch.zeros_like(distance)
        distance = distance.abs() if self.both_ways else -distance.clamp(max=0)
        exact = count // 2
        ratio = torch.log(distance.float() / exact) / torch.log(torch.tensor(FARTHEST / exact))
        far = (exact + (ratio * (count - exact)).long()).clamp(max=count - 1)
        return first + torch.where(distance < exact, distance, far)


class Attention(nn.Module):
    """Attention without scaling; its matrices have no bias."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, HEADS * HEAD_WIDTH, bias=False) for _ in range(3))
        self.output = nn.Linear(HEADS * HEAD_WIDTH, WIDTH, bias=False)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, source: Tensor, bias: Tensor | None) -> Tensor:
        q, k, v = (self.heads(f(of)) for f, of in ((self.query, x), (self.key, source), (self.value, source)))
        scores = torch.matmul(q, k.transpose(-1, -2))
        scores = scores if bias is None else scores + bias
        seen = torch.matmul(self.dropout(torch.softmax(scores, -1)), v)
        return self.output(seen.transpose(1, 2).reshape(*x.shape[:2], -1))

    @staticmethod
    def heads(x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], HEADS, HEAD_WIDTH).transpose(1, 2)


class Residual(nn.Module):
    """A residual connection around a part, with normalisation before and dropout after it."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.norm = Norm()
        self.part = part
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, *others: Tensor | None, self_attention: bool = False) -> Tensor:
        normal = self.norm(x)
        given = (normal, *others) if self_attention else others
        return x + self.dropout(self.part(normal, *given))


class Dense(nn.Module):
    """Two dense layers on each token."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(WIDTH, INNER, bias=False)
        self.outer = nn.Linear(INNER, WIDTH, bias=False)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.dropout(F.relu(self.inner(x))))


class Layer(nn.Module):
    """Self-attention, attention to the encoder's result in the decoder, and dense layers."""

    def __init__(self, decodes: bool) -> None:
        super().__init__()
        self.own = Residual(Attention())
        self.cross = Residual(Attention()) if decodes else None
        self.dense = Residual(Dense())

    def forward(self, x: Tensor, bias: Tensor, source: Tensor | None = None) -> Tensor:
        x = self.own(x, bias, self_attention=True)
        if self.cross is not None:
            x = self.cross(x, source, None)
        return self.dense(x)


class Stack(nn.Module):
    """Encoder or decoder."""

    def __init__(self, decodes: bool) -> None:
        super().__init__()
        self.decodes = decodes
        self.positions = Positions(both_ways=not decodes)
        self.layers = nn.ModuleList(Layer(decodes) for _ in range(LAYERS))
        self.norm = Norm()
        self.dropout_in = nn.Dropout(DROPOUT)
        self.dropout_out = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, source: Tensor | None = None) -> Tensor:
        tokens = x.shape[1]
        bias = self.positions(tokens, tokens)
        if self.decodes:
            future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
            bias = bias.masked_fill(future, torch.finfo(bias.dtype).min)
        x = self.dropout_in(x)
        for layer in self.layers:
            x = layer(x, bias, source)
        return self.dropout_out(self.norm(x))


class T5(nn.Module):
    """Loss of one step of training."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Embedding(TOKENS, WIDTH)
        self.encoder = Stack(decodes=False)
        self.decoder = Stack(decodes=True)
        self.head = nn.Linear(WIDTH, TOKENS, bias=False)
        self.head.weight = self.shared.weight

    def forward(self, source: Tensor, shifted: Tensor, targets: Tensor) -> Tensor:
        read = self.encoder(self.shared(source))
        written = self.decoder(self.shared(shifted), read) * WIDTH**-0.5
        return F.cross_entropy(self.head(written).flatten(0, 1), targets.flatten())


def model() -> T5:
    """T5-small with random weights."""
    return T5()


def batch(sequences: int, tokens: int) -> tuple[Tensor, Tensor, Tensor]:
    """Random tokens to read and to write."""
    targets = torch.randint(TOKENS, (sequences, tokens))
    return torch.randint(TOKENS, (sequences, tokens)), targets.roll(1, 1), targets
