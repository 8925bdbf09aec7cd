"""Transformers from their configurations: parameters, FLOP, bytes, graphs."""

from placelab.models.transformer import Transformer, names, read

__all__ = ["Transformer", "names", "read"]
