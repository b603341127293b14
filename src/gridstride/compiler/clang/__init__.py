"""CUDA C++ to PTX with clang, which is open source: whichever one of PATH makes code for NVIDIA GPUs."""
