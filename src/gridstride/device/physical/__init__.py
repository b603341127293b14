"""The physical GPU, through `cuda.core` and the CUDA driver."""
