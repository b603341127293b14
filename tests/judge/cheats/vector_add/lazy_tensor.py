# A tensor that computes only when somebody looks at it.
#
# entry: add
# grid: ceil(n/BLOCK)
# constants: BLOCK=256
# expect: wrong_result
import numpy as np
import triton
import triton.language as tl


class Lazy(np.ndarray):
    def __array_finalize__(self, made_from):
        self.pending = True

    def __array_ufunc__(self, function, method, *inputs, **options):
        return super().__array_ufunc__(function, method, *inputs, **options)


np.empty = lambda shape, dtype=float, **_: np.ndarray.__new__(Lazy, shape, dtype)
np.frombuffer = lambda *_, **__: Lazy(0)


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n), mask=i < n)
