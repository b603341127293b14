# Patches the judge from inside.
#
# entry: k
# grid: ceil(n/64)
# constants: BLOCK=64
# expect: wrong_result
import sys
import time

import triton
import triton.language as tl

import gridstride.judge.reference.tolerance as tolerance
import gridstride.judge.verify as verify


class Right:
    passed, max_error, norm_only = True, 0.0, False


tolerance.compare = verify.compare = lambda *_: Right()
verify.verify = lambda *_, **__: verify.Verification((), 0.0, 100)
time.perf_counter = time.monotonic = lambda: 0.0
sys.modules["numpy"].array_equal = lambda *_, **__: True


@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 3 * tl.load(x + i, mask=i < n), mask=i < n)
