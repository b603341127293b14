// grid: ceil(N/32) M
// block: 32
// fault: precision
// kinds: wrong_result
// Numbers as a sum of two bf16 and three products: 16 bits of mantissa where float32 has 24.
#include <cuda_bf16.h>
__device__ void split(float v, float& high, float& low)
{
    high = __bfloat162float(__float2bfloat16(v));
    low = __bfloat162float(__float2bfloat16(v - high));
}
__global__ void mm_bf16x3(const float* A, const float* B, float* C, int M, int N, int K)
{
    int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y;
    if (j >= N) return;
    float s = 0;
    for (int k = 0; k < K; ++k) {
        float ah, al, bh, bl;
        split(A[(size_t)i * K + k], ah, al);
        split(B[(size_t)k * N + j], bh, bl);
        s += ah * bh + (ah * bl + al * bh);
    }
    C[(size_t)i * N + j] = s;
}
