"""Compute what the explorer shows: solve, pace and interrupt; no file here knows a widget."""
