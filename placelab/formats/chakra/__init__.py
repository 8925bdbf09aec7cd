"""Read Chakra execution traces."""
