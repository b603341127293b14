// grid: ceil(N/32) ceil(M/16)
// block: 32 4
// mma.sync without shared memory: each lane collects its elements of A and B half by half, a warp for 16 x 8 of C.
#include <cuda_fp16.h>
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    const int lane = threadIdx.x, i0 = blockIdx.y * 16, j0 = (blockIdx.x * 4 + threadIdx.y) * 8;
    auto a_at = [&](int i, int k) { return i < M && k < K ? A[(size_t)i * K + k] : __float2half(0.0f); };
    auto b_at = [&](int k, int j) { return k < K && j < N ? B[(size_t)k * N + j] : __float2half(0.0f); };
    float c[4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        __half2 a[4], b[2];
        for (int r = 0; r < 4; r++) {
            const int i = i0 + lane / 4 + r % 2 * 8, k = k0 + lane % 4 * 2 + r / 2 * 8;
            a[r] = __halves2half2(a_at(i, k), a_at(i, k + 1));
        }
        for (int r = 0; r < 2; r++) {
            const int k = k0 + lane % 4 * 2 + r * 8, j = j0 + lane / 4;
            b[r] = __halves2half2(b_at(k, j), b_at(k + 1, j));
        }
        const unsigned *ra = reinterpret_cast<const unsigned*>(a), *rb = reinterpret_cast<const unsigned*>(b);
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    }
    for (int e = 0; e < 4; e++) {
        const int i = i0 + lane / 4 + e / 2 * 8, j = j0 + lane % 4 * 2 + e % 2;
        if (i < M && j < N) C[(size_t)i * N + j] = __float2half(c[e]);
    }
}
