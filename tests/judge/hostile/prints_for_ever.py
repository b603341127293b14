# Prints without end.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: compile_error

import triton
import triton.language as tl

while True:
    print("no end" * 10_000)


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
