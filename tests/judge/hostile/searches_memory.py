# Looks for the expected values through the garbage collector and the stack.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: pass
import gc
import sys

import triton
import triton.language as tl

import gridstride.judge.problem as problem

found = [each for each in gc.get_objects() if isinstance(each, problem.Problem) or type(each).__name__ == "Expected"]
frame = sys._getframe(1)
while frame is not None:
    found += [name for name in frame.f_locals if name in ("reference", "expected", "problem", "inputs")]
    frame = frame.f_back
if found:
    raise SystemExit(f"GOT THROUGH: {found}")


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
