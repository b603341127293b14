"""What kernels come from: CUDA C++, PTX, Triton and Numba, made into modules."""
