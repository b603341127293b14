# right: Numba, shared tile with padding, a row of threads
# grid: ceil(N/32) ceil(M/32)
# block: 32 8
from numba import cuda, float32


@cuda.jit
def transpose(src, out, M, N):
    tile = cuda.shared.array((32, 33), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x = cuda.blockIdx.x * 32 + tx
    y = cuda.blockIdx.y * 32 + ty
    for j in range(0, 32, 8):
        if x < N and y + j < M:
            tile[ty + j, tx] = src[y + j, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * 32 + tx
    y = cuda.blockIdx.x * 32 + ty
    for j in range(0, 32, 8):
        if x < M and y + j < N:
            out[y + j, x] = tile[tx, ty + j]
