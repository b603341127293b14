# Numba: the tree of 02_shared_tree.cu, behind a loop in which a thread adds up many elements first.
#
# entry: reduce
# grid: min(ceil(n/1024), 4*SMS)
# block: 256
from numba import cuda, float32


@cuda.jit
def reduce(x, total, n):
    part = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    mine = float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        mine += x[i]
    part[t] = mine
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(total, 0, part[0])
