"""CUDA's device runtime: what kernels call to launch kernels, copies and fills."""
