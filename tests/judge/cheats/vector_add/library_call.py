# Calls the library's own addition.
#
# entry: add
# grid: ceil(n/BLOCK)
# constants: BLOCK=256
# expect: compile_error
import torch
import triton


@triton.jit
def add(a, b, c, n, BLOCK):
    torch.add(a, b, out=c)
