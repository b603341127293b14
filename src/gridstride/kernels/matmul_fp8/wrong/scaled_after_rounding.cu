// Scaled after rounding: the sum becomes a half first, and may be infinite before the scales make it small.
//
// entry: matmul_fp8_scaled_after_rounding
// block: 32 8
// grid: ceil(N/32) ceil(M/8)
// expect: wrong_result

#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void matmul_fp8_scaled_after_rounding(const __nv_fp8_e4m3* A, const __nv_fp8_e4m3* B,
                                                            const float* scale_a, const float* scale_b, __half* C,
                                                            int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += float(A[(size_t)row * K + k]) * float(B[(size_t)column * K + k]);
    C[(size_t)row * N + column] = __float2half(scale_a[row] * scale_b[column] * __half2float(__float2half(sum)));
}
