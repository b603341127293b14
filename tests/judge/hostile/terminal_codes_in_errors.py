# Raises what a terminal obeys and what a reader does not see.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: compile_error

import triton
import triton.language as tl

raise RuntimeError("\033]0;owned\007\x9b2J \u202e reversed \u200b\u2066 \ud800")


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
