# Triton's own histogram of 1,024 elements, with 256 more bins for what is not counted.
#
# entry: histogram_kernel
# grid: ceil(n/BLOCK)
# constants: BLOCK=1024
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(x, counts, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=5.0)
    inside = (v >= -4.0) & (v < 4.0)
    towards_zero = (tl.where(inside, v, 0.0) * 32.0).to(tl.int32)
    below = towards_zero.to(tl.float32) * 0.03125 > v  # tl.floor takes the smallest negative numbers for 0
    bins = tl.where(inside, towards_zero - below.to(tl.int32) + 128, 256)
    b = tl.arange(0, 512)
    tl.atomic_add(counts + b, tl.histogram(bins, 512), mask=b < 256)
