"""Read and write files of other programs, one format per file; count the operations of their ops."""
