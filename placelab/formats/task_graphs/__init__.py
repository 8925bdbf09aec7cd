"""Read the literature's task graphs: STG, DOT, Mayer's CSV, dnn-partitioning, PipeDream."""
