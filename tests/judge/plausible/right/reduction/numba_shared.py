# Numba: a tree in shared memory, and an atomic per block.
#
# entry: total_of
# grid: ceil(n/128)
# block: 128
from numba import cuda, float32


@cuda.jit
def total_of(x, total, n):
    part = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] if i < n else float32(0)
    cuda.syncthreads()
    half = 64
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(total, 0, part[0])
