"""CUDA C++ to PTX with NVRTC, NVIDIA's compiler library."""
