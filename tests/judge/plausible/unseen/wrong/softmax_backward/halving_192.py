# grid: rows
# block: 192
# fault: launch shape: reduction tree
# kinds: wrong_result
# A tree that halves 192 threads: 3 becomes 1, and the third part is lost.
from numba import cuda, float32


@cuda.jit
def softmax_backward(y, dy, dx, rows, columns):
    part = cuda.shared.array(192, float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    s = float32(0.0)
    for c in range(t, columns, 192):
        s += y[row, c] * dy[row, c]
    part[t] = s
    cuda.syncthreads()
    step = 192 // 2
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    s = part[0]
    for c in range(t, columns, 192):
        dx[row, c] = y[row, c] * (dy[row, c] - s)
