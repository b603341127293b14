"""The commands of `gridstride onnx`: one file for each."""
