"""When everything runs: one run, and many in one call of the kernel."""
