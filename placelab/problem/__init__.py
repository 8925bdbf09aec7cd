"""Hold what is to be placed: a graph, a cluster, the rules between them, and the files that hold a graph."""
