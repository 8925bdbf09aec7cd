"""Readers of programs of XLA, which JAX, TensorFlow and PyTorch/XLA make: HLO text and StableHLO text."""
