// grid: ceil(N/8) ceil(M/16)
// block: 32
// Mma.sync by inline PTX
#include <cuda_fp16.h>
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    int i = blockIdx.y * 16, j = blockIdx.x * 8, t = threadIdx.x, g = t / 4, q = t % 4 * 2;
    float c[4] = {};
    auto a1 = [&](int r, int k) { return i + r < M && k < K ? A[(size_t)(i + r) * K + k] : __half(0.f); };
    auto b1 = [&](int k, int s) { return k < K && j + s < N ? B[(size_t)k * N + j + s] : __half(0.f); };
    auto pack = [](__half x, __half y) { return (unsigned)__half_as_ushort(x) | (unsigned)__half_as_ushort(y) << 16; };
    for (int k = 0; k < K; k += 16) {
        unsigned a0 = pack(a1(g, k + q), a1(g, k + q + 1)), a2 = pack(a1(g + 8, k + q), a1(g + 8, k + q + 1));
        unsigned a4 = pack(a1(g, k + q + 8), a1(g, k + q + 9)), a6 = pack(a1(g + 8, k + q + 8), a1(g + 8, k + q + 9));
        unsigned b0 = pack(b1(k + q, g), b1(k + q + 1, g)), b2 = pack(b1(k + q + 8, g), b1(k + q + 9, g));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a2), "r"(a4), "r"(a6), "r"(b0), "r"(b2));
    }
    for (int e = 0; e < 4; e++) {
        int r = i + g + e / 2 * 8, s = j + q + e % 2;
        if (r < M && s < N) C[(size_t)r * N + s] = __float2half(c[e]);
    }
}
