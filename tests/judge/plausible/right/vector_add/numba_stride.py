# Numba, grid-stride, with the loop in a device function.
#
# entry: add
# grid: 5
# block: 96
from numba import cuda


@cuda.jit(device=True)
def plus(x, y):
    return x + y


@cuda.jit
def add(a, b, c, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        c[i] = plus(a[i], b[i])
