# A fixed number of Triton programs, each of which loops over its tiles.
#
# entry: add_kernel
# grid: 7
# constants: BLOCK=128
import triton
import triton.language as tl


@triton.jit
def add_kernel(a, b, c, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < n
        x = tl.load(a + offsets, mask=inside)
        y = tl.load(b + offsets, mask=inside)
        tl.store(c + offsets, x + y, mask=inside)
