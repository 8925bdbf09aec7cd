"""What people touch: the widgets, the explorer, the command line, exported pages."""
