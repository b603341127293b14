// Missing proxy fence: threads store the tiles, and wgmma reads them without the fence between.
//
// entry: matmul_fp8_missing_proxy_fence
// block: 128
// grid: ceil(N/8) ceil(M/64)
// needs: 9.0
// expect: proxy_fence

#include <cuda_fp16.h>

extern "C" __global__ void matmul_fp8_missing_proxy_fence(const unsigned char* A, const unsigned char* B,
                                                          const float* scale_a, const float* scale_b, __half* C,
                                                          int M, int N, int K)
{
    __shared__ __align__(16) unsigned char a[2][64][16], b[2][8][16];  // 32 steps of k, as 8x16 pieces of 128 bytes
    const int t = threadIdx.x, lane = t % 32, row = blockIdx.y * 64, column = blockIdx.x * 8;
    const unsigned long long at_a = static_cast<unsigned int>(__cvta_generic_to_shared(a));
    const unsigned long long at_b = static_cast<unsigned int>(__cvta_generic_to_shared(b));
    float c[4] = {};
    for (int start = 0; start < K; start += 32) {
        __syncthreads();
        for (int e = t; e < 64 * 32; e += 128) {
            const int i = row + e / 32, k = start + e % 32;
            a[e % 32 / 16][e / 32][e % 16] = i < M && k < K ? A[(size_t)i * K + k] : 0;
        }
        for (int e = t; e < 8 * 32; e += 128) {
            const int j = column + e / 32, k = start + e % 32;
            b[e % 32 / 16][e / 32][e % 16] = j < N && k < K ? B[(size_t)j * K + k] : 0;
        }
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0;\n"  // <- here
                     "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0, %1, %2, %3}, %4, %5, p, 1, 1; }"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "l"((at_a & 0x3ffff) >> 4 | 64ull << 16 | 8ull << 32),
                       "l"((at_b & 0x3ffff) >> 4 | 8ull << 16 | 8ull << 32)
                     : "memory");
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    for (int e = 0; e < 4; ++e) {
        const int i = row + t / 32 * 16 + lane / 4 + e / 2 * 8, j = column + lane % 4 * 2 + e % 2;
        if (i < M && j < N) C[(size_t)i * N + j] = __float2half(scale_a[i] * scale_b[j] * c[e]);
    }
}
