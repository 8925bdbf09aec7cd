"""Draw and play a schedule in the browser."""
