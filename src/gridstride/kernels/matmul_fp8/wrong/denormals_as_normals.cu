// Denormals as normals: exponent 0 is taken for a power of two with a leading one, like all others.
//
// entry: matmul_fp8_denormals_as_normals
// block: 32 8
// grid: ceil(N/32) ceil(M/8)
// expect: wrong_result

#include <cuda_fp16.h>

__device__ __forceinline__ float value(unsigned int code)
{
    if ((code & 127) == 127) return __int_as_float(0x7fffffff);
    return (code & 127) ? __int_as_float((code & 128) << 24 | (code & 127) + (120 << 3) << 20) : 0.0f;
}

extern "C" __global__ void matmul_fp8_denormals_as_normals(const unsigned char* A, const unsigned char* B,
                                                           const float* scale_a, const float* scale_b, __half* C,
                                                           int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += value(A[(size_t)row * K + k]) * value(B[(size_t)column * K + k]);
    C[(size_t)row * N + column] = __float2half(scale_a[row] * scale_b[column] * sum);
}
