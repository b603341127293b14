// Half precision: the product is rounded to 11 bits on its way.
//
// entry: saxpy_half_precision
// block: 256
// grid: ceil(n/256)
// expect: wrong_result precision

#include <cuda_fp16.h>

extern "C" __global__ void saxpy_half_precision(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __half2float(__float2half(a * x[i])) + y[i];
}
