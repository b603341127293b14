// 02 grid stride: a grid sized to the GPU, whose threads walk over the array.
//
// Moves: blocks launched, from n / 256 to at most 8 per multiprocessor. Bytes and sectors stay the same.
// Mapping: thread g of G in the whole grid -> elements g, g + G, g + 2G ...
//
// entry: saxpy_grid_stride
// block: 256
// grid: min(ceil(n/256), 8*SMS)

extern "C" __global__ void saxpy_grid_stride(int n, float a, const float* __restrict__ x, float* __restrict__ y)
{
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = a * x[i] + y[i];
    }
}
