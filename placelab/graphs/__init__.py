"""Where graphs come from: datasets, generators, files, and transformations of other graphs."""
