"""A user's own kernels as PyTorch ops."""
