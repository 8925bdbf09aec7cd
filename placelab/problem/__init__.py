"""A problem of placement: its graph, its cluster, the rules between them, and graphs as files."""
