# right: Numba, float64 inside
# grid: ceil(n/192)
# block: 192
import math

from numba import cuda


@cuda.jit
def gelu(x, y, n):
    i = cuda.grid(1)
    if i < n:
        v = float(x[i])
        y[i] = v * 0.5 * (1.0 + math.tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)))
