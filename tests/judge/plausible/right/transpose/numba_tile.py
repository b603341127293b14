# Numba with a shared tile, padded by one column.
#
# entry: transpose
# grid: ceil(N/16) ceil(M/16)
# block: 16 16
from numba import cuda, float32


@cuda.jit
def transpose(source, out, M, N):
    tile = cuda.shared.array((16, 17), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * 16 + y, cuda.blockIdx.x * 16 + x
    if row < M and column < N:
        tile[y, x] = source[row, column]
    cuda.syncthreads()
    row, column = cuda.blockIdx.x * 16 + y, cuda.blockIdx.y * 16 + x
    if row < N and column < M:
        out[row, column] = tile[x, y]
