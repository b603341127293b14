"""Typed PTX to LLVM IR: analysis, functions, and below them the instructions and the runtime."""
