"""Functions that CUDA provides without a body."""
