# grid: 1
# constants: BLOCK=1024
# warps: 4
# Adds up two tiles at a time: the first has 0 for what its mask leaves out, of the second tl.where says what counts.
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    sums = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, 2 * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        sums += tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
        behind = offsets + BLOCK
        sums += tl.where(behind < n, tl.load(x_ptr + behind, mask=behind < n), 0.0)
    tl.atomic_add(total_ptr, tl.sum(sums))
