"""The machine code that kernels call: scheduler, barriers, memory, counters, output."""
