// 02 grid stride: a grid sized to the GPU, whose threads walk over the array.
//
// Moves: blocks launched, from n / 256 to at most 8 per multiprocessor, and with them the index arithmetic and
//   the launch of each block. Bytes moved stay the same; large n is no longer bound to the size of a grid.
// Mapping: thread g of G in the whole grid -> elements g, g + G, g + 2G ...: neighbours stay neighbours.
//
// entry: add_grid_stride
// block: 256
// grid: min(ceil(n/256), 8*SMS)

extern "C" __global__ void add_grid_stride(const float* __restrict__ a, const float* __restrict__ b,
                                           float* __restrict__ c, int n)
{
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        c[i] = a[i] + b[i];
    }
}
