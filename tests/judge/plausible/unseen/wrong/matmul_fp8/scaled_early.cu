// grid: ceil(N/16), ceil(M/16)
// block: 16, 16
// fault: values
// kinds: wrong_result
// Scale of b multiplied as half: scale_b = 1e-5 is a denormal half.

#include <cuda_fp16.h>
#include <cuda_fp8.h>
__device__ float dec(unsigned char c) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(c, __NV_E4M3))); }
__global__ void matmul_fp8(const unsigned char* A, const unsigned char* B, const float* sa, const float* sb, __half* C, int M, int N, int K)
{
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y; if (i >= M || j >= N) return;
    float s = 0, q = __half2float(__float2half(sb[j])); for (int k = 0; k < K; k++) s += dec(A[(size_t)i * K + k]) * dec(B[(size_t)j * K + k]);
    C[(size_t)i * N + j] = __float2half(s * sa[i] * q);
}
