// mma.sync m16n8k16 with the weight as A and x as B: eight rows of x at a time, a warp for 16 columns.
// grid: ceil(N/16) ceil(M/8)
// block: 32
#include <cuda_fp16.h>
__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int K = 32 * steps, lane = threadIdx.x, n0 = blockIdx.x * 16, m0 = blockIdx.y * 8, g = lane / 4, p = lane % 4 * 2;
    float c[4] = {};
    const auto pair = [&](const __half* base, int row, int rows, int k) {
        return row < rows ? *reinterpret_cast<const unsigned int*>(base + (size_t)row * K + k) : 0u;
    };
    for (int k = 0; k < K; k += 16) {
        const unsigned int a0 = pair(weight, n0 + g, N, k + p), a1 = pair(weight, n0 + g + 8, N, k + p);
        const unsigned int a2 = pair(weight, n0 + g, N, k + p + 8), a3 = pair(weight, n0 + g + 8, N, k + p + 8);
        const unsigned int b0 = pair(x, m0 + g, M, k + p), b1 = pair(x, m0 + g, M, k + p + 8);
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    for (int e = 0; e < 4; ++e) {
        const int n = n0 + g + e / 2 * 8, m = m0 + p + e % 2;
        if (n < N && m < M) y[(size_t)m * N + n] = __float2half(c[e] + __half2float(bias[n]));
    }
}
