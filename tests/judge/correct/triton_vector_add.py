# c = a + b in Triton, one program for 256 elements.
#
# entry: add
# grid: ceil(n/BLOCK)
# constants: BLOCK=256
import triton
import triton.language as tl


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)
