"""Draw a cluster and edit it by hand."""
