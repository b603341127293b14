"""LLVM IR as text, and the arithmetic that both kernels and the runtime write in it."""
