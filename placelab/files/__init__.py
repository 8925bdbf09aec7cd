"""Read and write any file safely: limits, checked fields, whole-file saving, the protobuf wire format."""
