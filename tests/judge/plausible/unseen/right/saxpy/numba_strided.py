# grid: SMS
# block: 256

from numba import cuda


def saxpy(n, a, x, y):
    start = cuda.grid(1)
    for i in range(start, n, cuda.gridsize(1)):
        y[i] = a * x[i] + y[i]
