"""Read and write files safely: limits, checked fields, atomic saving, the protobuf wire format."""
