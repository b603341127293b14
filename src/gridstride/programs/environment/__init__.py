"""A folder that stands for a CUDA toolkit, so that a project's own Makefile or CMake builds with our compilers."""
