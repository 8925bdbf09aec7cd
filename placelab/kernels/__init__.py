"""Hot loops on flat arrays: one kernel per file, compiled by numba or run as plain Python."""
