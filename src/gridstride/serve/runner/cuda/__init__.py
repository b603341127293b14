"""The runner for GPUs, with CUDA graphs."""
