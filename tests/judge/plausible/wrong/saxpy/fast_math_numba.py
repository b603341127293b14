# grid: max(1, ceil(n/128))
# block: 128
# fault: denormals
# kinds: wrong_result
# fastmath=True: denormals are flushed (ftz) in a x + y.
from numba import cuda


@cuda.jit(fastmath=True)
def axpy(n, a, x, y):
    i = cuda.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]
