// grid: ceil(N/4)
// block: 32 4
// A warp per column; rows of x are taken 8, 4, 2 or 1 at a time by a template's recursion.

#include <cuda_fp16.h>

template <int Rows>
__device__ void column(const __half* x, const __half* w, float bias, __half* y, int m, int M, int N, int depth)
{
    for (; m + Rows <= M; m += Rows) {
        float sum[Rows] = {};
        for (int k = 8 * threadIdx.x; k < depth; k += 256) {
            const uint4 packed = __ldg(reinterpret_cast<const uint4*>(w + k));
            const __half* wk = reinterpret_cast<const __half*>(&packed);
#pragma unroll
            for (int r = 0; r < Rows; ++r) {
                const uint4 px = *reinterpret_cast<const uint4*>(x + (size_t)(m + r) * depth + k);
                const __half* xk = reinterpret_cast<const __half*>(&px);
                for (int j = 0; j < 8; ++j) sum[r] = fmaf(__half2float(xk[j]), __half2float(wk[j]), sum[r]);
            }
        }
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            float v = sum[r];
            for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
            if (threadIdx.x == 0) y[(size_t)(m + r) * N] = __float2half(v + bias);
        }
    }
    if constexpr (Rows > 1)
        if (m < M) column<Rows / 2>(x, w, bias, y, m, M, N, depth);
}

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x * 4 + threadIdx.y;
    if (n < N) column<8>(x, weight + (size_t)n * 32 * steps, __half2float(bias[n]), y + n, 0, M, N, 32 * steps);
}
