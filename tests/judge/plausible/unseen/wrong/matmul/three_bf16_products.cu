// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: precision
// kinds: wrong_result
// A and B are split into two bfloat16 each, and the low ones' product is left out, as on tensor cores: about 16 bits of 24.

#include <cuda_bf16.h>

__device__ float2 split(float v)
{
    const float high = __bfloat162float(__float2bfloat16_rn(v));
    return make_float2(high, __bfloat162float(__float2bfloat16_rn(v - high)));
}

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        const float2 a = split(A[(size_t)row * K + k]), b = split(B[(size_t)k * N + column]);
        sum += a.x * b.x;
        sum += a.x * b.y + a.y * b.x;
    }
    C[(size_t)row * N + column] = sum;
}
