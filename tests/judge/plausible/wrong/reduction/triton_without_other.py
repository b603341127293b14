# grid: 1
# constants: BLOCK=1024
# warps: 4
# fault: masked load
# kinds: uninitialised_read
# Adds up a tile at a time; what the mask leaves out of the last one has no `other`, and is undefined.
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    sums = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        sums += tl.load(x_ptr + offsets, mask=offsets < n)
    tl.atomic_add(total_ptr, tl.sum(sums))
