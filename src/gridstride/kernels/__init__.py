"""Kernel ladders: one folder per op, with its problem, its rungs and the kernels that must be rejected."""
