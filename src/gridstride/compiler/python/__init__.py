"""Kernels written in Python: Triton and Numba to PTX, with messages in the words of their source."""
