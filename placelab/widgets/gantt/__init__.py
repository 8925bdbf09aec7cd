"""Draw and play a schedule."""
