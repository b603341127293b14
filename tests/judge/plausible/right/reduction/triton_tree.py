# One Triton program per 1,024 elements, added by an atomic.
#
# entry: sum_kernel
# grid: ceil(n/BLOCK)
# constants: BLOCK=1024
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x, total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))
