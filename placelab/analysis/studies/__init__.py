"""Solve many problems, or one problem under many values of a parameter."""
