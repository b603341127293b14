// Missing proxy fence: wgmma reads x, which threads have stored, without the fence between their stores and its reads.
//
// entry: skinny_gemm_missing_proxy_fence
// block: 128
// grid: ceil(N/64) ceil(M/8)
// expect: proxy_fence

#include <cuda_fp16.h>

extern "C" __global__ void skinny_gemm_missing_proxy_fence(
    const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    __shared__ __align__(16) __half part[2][8][8];  // 16 columns of 8 rows of x
    const int t = threadIdx.x, lane = t % 32, K = 32 * steps, m = blockIdx.y * 8, n = blockIdx.x * 64 + t / 32 * 16;
    const unsigned long long at = static_cast<unsigned int>(__cvta_generic_to_shared(part));
    float c[4] = {};
    for (int k = 0; k < K; k += 16) {
        __syncthreads();
        part[t / 64][t % 64 / 8][t % 8] = x[(size_t)min(m + t % 64 / 8, M - 1) * K + k + t / 64 * 8 + t % 8];
        unsigned int a[4];
        for (int i = 0; i < 4; ++i) {
            const int row = min(n + lane / 4 + i % 2 * 8, N - 1), column = k + lane % 4 * 2 + i / 2 * 8;
            a[i] = *reinterpret_cast<const unsigned int*>(weight + (size_t)row * K + column);
        }
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0;\n"  // <- here
                     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, "
                     "p, 1, 1, 0; }"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"((at & 0x3ffff) >> 4 | 8ull << 16 | 8ull << 32)
                     : "memory");
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    for (int i = 0; i < 4; ++i) {
        const int row = m + lane % 4 * 2 + i % 2, column = n + lane / 4 + i / 2 * 8;
        if (row < M && column < N) y[(size_t)row * N + column] = __float2half(c[i] + __half2float(bias[column]));
    }
}
