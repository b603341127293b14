# Catches what goes wrong in the kernel and returns as if nothing were.
#
# entry: add
# block: 256
# grid: ceil(n/256)
# expect: compile_error
from numba import cuda


@cuda.jit
def add(a, b, c, n):
    try:
        i = cuda.grid(1)
        c[i] = a[i] + b[i]
    except Exception:
        pass
