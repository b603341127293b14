# right: Numba, math.tanh in float32
# grid: 8*SMS
# block: 64
import math

from numba import cuda, float32


@cuda.jit
def gelu_backward(x, dy, dx, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v = x[i]
        c = float32(0.7978845608028654)
        k = float32(0.044715)
        one = float32(1.0)
        half = float32(0.5)
        t = math.tanh(c * (v + k * v * v * v))
        bent = one - t * t
        second = v - v  # 0, or NaN of Inf and NaN
        if bent != float32(0.0):
            second = half * v * bent * c * (one + float32(3.0) * k * v * v)
        dx[i] = dy[i] * (half * (one + t) + second)
