// grid: ceil(N/8), ceil(M/16)
// block: 32
// fault: fence taken as a barrier of the warp
// kinds: race
// ldmatrix reads rows that other lanes have stored, with a fence of each lane between.

#include <cuda_fp16.h>
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ alignas(16) __half a[16 * 16], b[16 * 8]; int l = threadIdx.x; float d[4] = {0, 0, 0, 0};
    for (int o = 0; o < K; o += 16) {
        for (int e = l; e < 256; e += 32) { int i = blockIdx.y * 16 + e / 16, k = o + e % 16; a[e] = i < M && k < K ? A[(size_t)i * K + k] : __half(0.f); }
        for (int e = l; e < 128; e += 32) { int k = o + e / 8, j = blockIdx.x * 8 + e % 8; b[e] = k < K && j < N ? B[(size_t)k * N + j] : __half(0.f); }
        __threadfence_block();
        unsigned x0, x1, x2, x3, y0, y1; unsigned pa = (unsigned)__cvta_generic_to_shared(a + l % 16 * 16 + l / 16 * 8), pb = (unsigned)__cvta_generic_to_shared(b + l % 16 * 8);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3) : "r"(pa) : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(y0), "=r"(y1) : "r"(pb) : "memory");
        __threadfence_block();
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(y0), "r"(y1));
    }
    for (int e = 0; e < 4; e++) { int i = blockIdx.y * 16 + l / 4 + e / 2 * 8, j = blockIdx.x * 8 + l % 4 * 2 + e % 2; if (i < M && j < N) C[(size_t)i * N + j] = __float2half(d[e]); }
}
