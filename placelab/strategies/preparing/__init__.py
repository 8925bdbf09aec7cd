"""Make a problem smaller before it is placed; each transformation also returns the function that expands its placements."""
