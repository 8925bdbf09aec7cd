"""Read ONNX models and ONNX Runtime's profiles."""
