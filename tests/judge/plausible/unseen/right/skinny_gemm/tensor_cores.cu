// grid: ceil(N/8) ceil(M/16)
// block: 32
//
// A warp, sixteen rows, eight columns: mma.m16n8k16 by inline PTX with float accumulators; what lies outside is zero.

#include <cuda_fp16.h>

__device__ unsigned pair(const __half* from, bool inside) { return inside ? *(const unsigned*)from : 0u; }

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int group = threadIdx.x / 4, part = threadIdx.x % 4, K = 32 * steps;
    const int top = blockIdx.y * 16, left = blockIdx.x * 8;
    const int r0 = top + group, r1 = r0 + 8, c = left + group;
    float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    for (int k = 2 * part; k < K; k += 16) {
        const unsigned a0 = pair(x + (size_t)r0 * K + k, r0 < M), a1 = pair(x + (size_t)r1 * K + k, r1 < M);
        const unsigned a2 = pair(x + (size_t)r0 * K + k + 8, r0 < M), a3 = pair(x + (size_t)r1 * K + k + 8, r1 < M);
        const unsigned b0 = pair(weight + (size_t)c * K + k, c < N), b1 = pair(weight + (size_t)c * K + k + 8, c < N);
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
            : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    const int n = left + 2 * part;
    auto put = [&](int m, int column, float v) {
        if (m < M && column < N) y[(size_t)m * N + column] = __float2half(v + __half2float(bias[column]));
    };
    put(r0, n, d0), put(r0, n + 1, d1), put(r1, n, d2), put(r1, n + 1, d3);
}
