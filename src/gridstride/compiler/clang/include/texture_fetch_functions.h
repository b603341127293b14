// clang's wrapper of CUDA's headers includes it; CUDA no longer has it, or has it in a wheel that kernels can do without.
