# grid: ceil(n/256)
# block: 256
# fault: grid-stride bug, race
# kinds: race
# The stride of the loop is the block's and not the grid's: several blocks update the same elements.
from numba import cuda


@cuda.jit
def saxpy(n, a, x, y):
    start = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(start, n, cuda.blockDim.x):
        y[i] = a * x[i] + y[i]
