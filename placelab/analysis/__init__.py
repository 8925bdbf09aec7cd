"""Check, bound, measure and explain a finished schedule."""
