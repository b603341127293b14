# Makes files of no bytes until nobody has any left.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: compile_error
import itertools
import os

import triton
import triton.language as tl

for number in itertools.count():
    os.close(os.open(f"{os.environ['TMPDIR']}/{number}", os.O_CREAT | os.O_WRONLY))


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
