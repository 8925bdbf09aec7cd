"""Plans of a model on machines: memory by category, and which device runs which layers."""
