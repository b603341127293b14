# grid: ceil(n/BLOCK)
# constants: BLOCK=1024
# warps: 4
# fault: race in global memory
# kinds: race
# Each program loads total, adds its sum and stores it: no atomic.
import triton
import triton.language as tl


@triton.jit
def reduction(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    s = tl.sum(x, axis=0)
    tl.store(total_ptr, tl.load(total_ptr) + s)
