"""Where ops run, and in what order: one algorithm per file; place and solve."""
