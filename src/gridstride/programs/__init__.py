"""Whole CUDA programs, `main()` and all: compiled from wheels, run in a process of their own on the virtual GPU."""
