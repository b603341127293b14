# c = a + b in Numba, a thread for each element.
#
# entry: add
# block: 256
# grid: ceil(n/256)
from numba import cuda


@cuda.jit
def add(a, b, c, n):
    i = cuda.grid(1)
    if i < n:
        c[i] = a[i] + b[i]
