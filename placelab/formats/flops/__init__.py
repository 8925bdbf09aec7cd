"""Count the floating-point operations and bytes of an op from its kind and shapes."""
