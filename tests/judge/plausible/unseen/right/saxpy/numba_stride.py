# A Numba kernel with a grid-stride loop and fused multiply-add by hand.
# grid: min(max(1, ceil(n/256)), 8*SMS)
# block: 256
from numba import cuda


@cuda.jit
def saxpy(n, a, x, y):
    first = cuda.grid(1)
    step = cuda.gridsize(1)
    for i in range(first, n, step):
        y[i] = a * x[i] + y[i]
