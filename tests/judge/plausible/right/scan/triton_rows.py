# One Triton program that takes the array in blocks of 1,024 and carries the sum along.
#
# entry: scan_kernel
# grid: 1
# constants: BLOCK=1024
import triton
import triton.language as tl


@triton.jit
def scan_kernel(x, y, n, BLOCK: tl.constexpr):
    carry = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(y + i, carry + tl.cumsum(v, 0), mask=i < n)
        carry += tl.sum(v)
