// right: mma.sync with fragments gathered straight from global memory
// grid: ceil(N/8) ceil(M/16)
// block: 32
// needs: 8.0
#include <cuda_fp16.h>

__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4, row = blockIdx.y * 16, column = blockIdx.x * 8;
    float c[4] = {};
    auto la = [&](int r, int k) { return row + r < M && k < K ? A[(size_t)(row + r) * K + k] : __float2half(0.0f); };
    auto lb = [&](int k, int n) { return k < K && column + n < N ? B[(size_t)k * N + column + n] : __float2half(0.0f); };
    auto pack = [](__half lo, __half hi) { return (unsigned)__half_as_ushort(lo) | (unsigned)__half_as_ushort(hi) << 16; };
    for (int k0 = 0; k0 < K; k0 += 16) {
        const int k = k0 + 2 * t;
        unsigned a0 = pack(la(g, k), la(g, k + 1)), a1 = pack(la(g + 8, k), la(g + 8, k + 1));
        unsigned a2 = pack(la(g, k + 8), la(g, k + 9)), a3 = pack(la(g + 8, k + 8), la(g + 8, k + 9));
        unsigned b0 = pack(lb(k, g), lb(k + 1, g)), b1 = pack(lb(k + 8, g), lb(k + 9, g));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    for (int e = 0; e < 4; ++e) {
        const int r = row + g + e / 2 * 8, n = column + 2 * t + e % 2;
        if (r < M && n < N) C[(size_t)r * N + n] = __float2half(c[e]);
    }
}
