"""Whether a schedule is legal, how good it is, and why; comparisons, studies, training runs with failures."""
