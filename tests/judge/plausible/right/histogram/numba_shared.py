# Numba: bins in shared memory, cleared and handed on by the block's threads.
#
# entry: histogram
# grid: ceil(n/1024)
# block: 256
import math

from numba import cuda, float32, int32


@cuda.jit
def histogram(x, counts, n):
    bins = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    bins[t] = 0
    cuda.syncthreads()
    for k in range(4):
        i = cuda.blockIdx.x * 1024 + k * 256 + t
        if i < n:
            v = x[i]
            if v >= float32(-4) and v < float32(4):
                cuda.atomic.add(bins, int32(math.floor(v * float32(32))) + 128, 1)
    cuda.syncthreads()
    cuda.atomic.add(counts, t, bins[t])
