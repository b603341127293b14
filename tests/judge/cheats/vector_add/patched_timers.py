# Every clock that Python can reach stands still.
#
# entry: add
# grid: ceil(n/BLOCK)
# constants: BLOCK=256
# expect: wrong_result
import time

import triton
import triton.language as tl

for name in ("time", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time"):
    setattr(time, name, lambda: 0)
try:
    import torch

    torch.cuda.Event.elapsed_time = lambda self, end: 0.0
    triton.testing.do_bench = lambda *_, **__: 0.0
except Exception:
    pass


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n), mask=i < n)
