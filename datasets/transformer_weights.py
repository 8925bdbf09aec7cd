"""Initial weights of BERT and GPT-2."""

from __future__ import annotations

from torch import nn

DEVIATION = 0.02


def normal_weights(part: nn.Module) -> None:
    """Draw the weights of a layer with the papers' standard deviation, and set biases to 0.

    With PyTorch's wider defaults, the loss has denormal numbers, on which a CPU is slow.
    """
    if isinstance(part, (nn.Linear, nn.Embedding)):
        nn.init.normal_(part.weight, std=DEVIATION)
    if isinstance(part, nn.Linear) and part.bias is not None:
        nn.init.zeros_(part.bias)
