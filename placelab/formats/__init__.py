"""Read and write model graphs and profiles, one format per module."""
