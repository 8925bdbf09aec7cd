"""The kernel of the local search, and its moves."""
