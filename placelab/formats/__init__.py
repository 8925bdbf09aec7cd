"""Model graphs as files: one format per file, each with ``read`` and ``write``."""
