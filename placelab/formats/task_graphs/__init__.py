"""Read task graphs of the literature and of other systems: STG, DOT, CSV, JSON, workflows, execution traces."""
