"""Read and write TensorFlow's files: GraphDef, SavedModel, RunMetadata."""
