// Sum in half: half the bytes for what is added, and a thousandth of the precision.
//
// entry: spmv_sum_in_half
// block: 256
// grid: ceil(rows/256)
// expect: wrong_result precision

#include <cuda_fp16.h>

extern "C" __global__ void spmv_sum_in_half(
    const int* offsets, const int* indices, const float* values, const float* x, float* y, int rows, int entries)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    __half sum = __float2half(0.0f);
    for (int k = offsets[row]; k < offsets[row + 1]; ++k) sum = __hadd(sum, __float2half(values[k] * x[indices[k]]));
    y[row] = __half2float(sum);
}
