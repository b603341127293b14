# Triton: one program per 1,024 elements; 4 bytes a load, for nothing says at which multiple the arrays begin.
#
# entry: add
# grid: ceil(n/1024)
# constants: BLOCK=1024
# warps: 4
import triton
import triton.language as tl


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(c + i, tl.load(a + i, mask=inside) + tl.load(b + i, mask=inside), mask=inside)
