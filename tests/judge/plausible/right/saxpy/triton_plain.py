# SAXPY in Triton.
#
# entry: saxpy
# grid: ceil(n/BLOCK)
# constants: BLOCK=512
# warps: 2
import triton
import triton.language as tl


@triton.jit
def saxpy(n, a, x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    old = tl.load(y + i, mask=i < n, other=0.0)
    tl.store(y + i, a * tl.load(x + i, mask=i < n, other=0.0) + old, mask=i < n)
