"""Hot loops on flat arrays, compiled by numba or run as plain Python; blocks of their arguments."""
