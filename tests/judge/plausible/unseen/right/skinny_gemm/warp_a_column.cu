// grid: ceil(N/7)
// block: 224
//
// A warp for each column, seven to a block, sixteen bytes of weights a lane, rows by a template of four.

#include <cuda_fp16.h>

template <int ROWS>
__device__ void rows(const __half* x, const __half* w, float bias, __half* y, int first, int N, int n, int K)
{
    const int lane = threadIdx.x % 32;
    float sums[ROWS] = {};
    for (int k = 8 * lane; k < K; k += 256) {
        const uint4 ws = *reinterpret_cast<const uint4*>(w + k);
        const __half2* wh = reinterpret_cast<const __half2*>(&ws);
#pragma unroll
        for (int m = 0; m < ROWS; ++m) {
            const uint4 xs = *reinterpret_cast<const uint4*>(x + (size_t)(first + m) * K + k);
            const __half2* xh = reinterpret_cast<const __half2*>(&xs);
            for (int j = 0; j < 4; ++j) {
                const float2 u = __half22float2(wh[j]), v = __half22float2(xh[j]);
                sums[m] += u.x * v.x + u.y * v.y;
            }
        }
    }
    for (int m = 0; m < ROWS; ++m) {
        for (int o = 16; o; o >>= 1) sums[m] += __shfl_xor_sync(~0u, sums[m], o);
        if (lane == 0) y[(size_t)(first + m) * N + n] = __float2half(sums[m] + bias);
    }
}

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x * 7 + threadIdx.x / 32, K = 32 * steps;
    if (n >= N) return;
    const float b = __half2float(bias[n]);
    const __half* w = weight + (size_t)n * K;
    int m = 0;
    for (; m + 4 <= M; m += 4) rows<4>(x, w, b, y, m, N, n, K);
    for (; m < M; ++m) rows<1>(x, w, b, y, m, N, n, K);
}
