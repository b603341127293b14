// No fence: a row has two blocks, and nothing makes the half of the first be there once its arrival is.
//
// entry: spmv_no_fence
// block: 256
// grid: ceil(rows/256) 2
// expect: race

__device__ float parts[2][1 << 16];
__device__ unsigned int arrived[1 << 16];

extern "C" __global__ void spmv_no_fence(
    const int* offsets, const int* indices, const float* values, const float* x, float* y, int rows, int entries)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const int middle = offsets[row] + (offsets[row + 1] - offsets[row]) / 2;
    const int begin = blockIdx.y ? middle : offsets[row], end = blockIdx.y ? offsets[row + 1] : middle;
    float sum = 0.0f;
    for (int k = begin; k < end; ++k) sum += values[k] * x[indices[k]];
    parts[blockIdx.y][row] = sum;  // <- here
    if (atomicAdd(&arrived[row], 1u) == 1) {
        y[row] = parts[0][row] + parts[1][row];  // <- here
        arrived[row] = 0;
    }
}
