# grid: n//256
# block: 256
# fault: grid rounded down
# kinds: wrong_result
# n // 256 blocks, as Python's division has it: the last n % 256 elements are left out.
import math

from numba import cuda


@cuda.jit
def gelu_backward(x, dy, dx, n):
    i = cuda.grid(1)
    if i < n:
        v = float(x[i])
        t = math.tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))
        slope = 0.7978845608028654 * (1.0 + 3.0 * 0.044715 * v * v)
        dx[i] = dy[i] * (0.5 * (1.0 + t) + 0.5 * v * (1.0 - t * t) * slope)
