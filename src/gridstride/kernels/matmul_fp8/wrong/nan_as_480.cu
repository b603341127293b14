// NaN as 480: e4m3 has no infinities, and its last code continues the row of values in place of a NaN.
//
// entry: matmul_fp8_nan_as_480
// block: 32 8
// grid: ceil(N/32) ceil(M/8)
// expect: wrong_result

#include <cuda_fp16.h>

__device__ __forceinline__ float value(unsigned int code)
{
    return __int_as_float((code & 128) << 24 | (code & 127) << 20) * 0x1p120f;
}

extern "C" __global__ void matmul_fp8_nan_as_480(const unsigned char* A, const unsigned char* B,
                                                 const float* scale_a, const float* scale_b, __half* C,
                                                 int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += value(A[(size_t)row * K + k]) * value(B[(size_t)column * K + k]);
    C[(size_t)row * N + column] = __float2half(scale_a[row] * scale_b[column] * sum);
}
