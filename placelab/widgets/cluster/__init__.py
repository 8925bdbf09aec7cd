"""Draw and edit a cluster by hand."""
