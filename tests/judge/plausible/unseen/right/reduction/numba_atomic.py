# right: Numba, warp shuffles, one atomic per warp
# grid: ceil(n/1024)
# block: 128
from numba import cuda, float32


@cuda.jit
def reduction(x, total, n):
    v = float32(0.0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += x[i]
    offset = 16
    while offset > 0:
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, offset)
        offset //= 2
    if cuda.threadIdx.x % 32 == 0:
        cuda.atomic.add(total, 0, v)
