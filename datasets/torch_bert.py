"""BERT-base by Devlin et al. (2018), with both heads of its pre-training: masked words and next sentence."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformer_weights import normal_weights

WORDS = 30522
POSITIONS = 512
SEGMENTS = 2
LAYERS = 12
WIDTH = 768
HEADS = 12
INNER = 3072
DROPOUT = 0.1
EPSILON = 1e-12


class Embeddings(nn.Module):
    """Sum of the embeddings of words, positions and segments."""

    def __init__(self) -> None:
        super().__init__()
        self.word = nn.Embedding(WORDS, WIDTH)
        self.position = nn.Embedding(POSITIONS, WIDTH)
        self.segment = nn.Embedding(SEGMENTS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, EPSILON)
        self.dropout = nn.Dropout(DROPOUT)
        self.register_buffer("positions", torch.arange(POSITIONS), persistent=False)

    def forward(self, words: Tensor, segments: Tensor) -> Tensor:
        positions = self.position(self.positions[: words.shape[1]])
        return self.dropout(self.norm(self.word(words) + self.segment(segments) + positions))


class Attention(nn.Module):
    """Self-attention over the words that are not masked."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.output = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, EPSILON)
        self.weights_dropout = nn.Dropout(DROPOUT)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, words, _ = x.shape
        q, k, v = (f(x).view(batch, words, HEADS, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        scores = torch.matmul(q, k.transpose(-1, -2)) / (WIDTH // HEADS) ** 0.5 + mask
        seen = torch.matmul(self.weights_dropout(torch.softmax(scores, -1)), v)
        return self.norm(x + self.dropout(self.output(seen.transpose(1, 2).reshape(batch, words, WIDTH))))


class Layer(nn.Module):
    """Attention, then two dense layers on each word."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.inner = nn.Linear(WIDTH, INNER)
        self.outer = nn.Linear(INNER, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, EPSILON)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.attention(x, mask)
        return self.norm(x + self.dropout(self.outer(F.gelu(self.inner(x)))))


class Bert(nn.Module):
    """Loss of one step of pre-training."""

    def __init__(self) -> None:
        super().__init__()
        self.embeddings = Embeddings()
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.pooler = nn.Linear(WIDTH, WIDTH)
        self.transform = nn.Linear(WIDTH, WIDTH)
        self.transform_norm = nn.LayerNorm(WIDTH, EPSILON)
        self.words = nn.Linear(WIDTH, WORDS)
        self.words.weight = self.embeddings.word.weight
        self.next_sentence = nn.Linear(WIDTH, 2)

    def forward(self, words: Tensor, segments: Tensor, mask: Tensor, masked: Tensor, follows: Tensor) -> Tensor:
        hidden = (1.0 - mask[:, None, None, :].to(torch.float32)) * torch.finfo(torch.float32).min
        x = self.embeddings(words, segments)
        for layer in self.layers:
            x = layer(x, hidden)
        words_loss = F.cross_entropy(
            self.words(self.transform_norm(F.gelu(self.transform(x)))).flatten(0, 1), masked.flatten()
        )
        return words_loss + F.cross_entropy(self.next_sentence(torch.tanh(self.pooler(x[:, 0]))), follows)


def model() -> Bert:
    """BERT-base with random weights."""
    return Bert().apply(normal_weights)


def batch(sequences: int, words: int) -> tuple[Tensor, ...]:
    """Random words, without padding, 15 % of them masked."""
    masked = torch.randint(WORDS, (sequences, words))
    masked[torch.rand(sequences, words) > 0.15] = -100
    return (
        torch.randint(WORDS, (sequences, words)),
        torch.randint(SEGMENTS, (sequences, words)),
        torch.ones(sequences, words, dtype=torch.long),
        masked,
        torch.randint(2, (sequences,)),
    )
