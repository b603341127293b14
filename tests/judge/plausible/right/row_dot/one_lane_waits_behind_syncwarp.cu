// grid: rows
// block: 32
// needs: 9.0
// A row by one warp; lane 0 fills a ring by bulk copies and waits for a stage, and the others read it behind a __syncwarp().

#include <cuda_fp16.h>
__device__ unsigned sm(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void bar_init(void* b, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sm(b)), "r"(n) : "memory"); }
__device__ void bar_expect(void* b, int bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sm(b)), "r"(bytes) : "memory"); }
__device__ void bar_arrive(void* b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sm(b)) : "memory"); }
__device__ void bar_wait(void* b, int parity)
{
    asm volatile("{\n.reg .pred p;\nL%=:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra L%=;\n}" ::"r"(sm(b)), "r"(parity) : "memory");
}
__device__ void bulk(void* to, const void* from, int bytes, void* b)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(sm(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(sm(b)) : "memory");
}
__device__ void init_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__global__ void row_dot(const __half* a, const __half* b, float* y, int rows, int columns)
{
    constexpr int S = 4, C = 64;
    __shared__ alignas(128) __half sa[S][C];
    __shared__ alignas(128) __half sb[S][C];
    __shared__ alignas(8) unsigned long long full[S];
    const int lane = threadIdx.x;
    const __half* ra = a + (size_t)blockIdx.x * columns;
    const __half* rb = b + (size_t)blockIdx.x * columns;
    float s = 0;
    if (columns % 8) {
        for (int j = lane; j < columns; j += 32) s += __half2float(ra[j]) * __half2float(rb[j]);
    } else {
        const int chunks = (columns + C - 1) / C;
        if (lane == 0) {
            for (int k = 0; k < S; k++) bar_init(&full[k], 1);
            init_fence();
        }
        __syncwarp();
        auto fill = [&](int c) {
            const int st = c % S, bytes = min(C, columns - c * C) * 2;
            bar_expect(&full[st], 2 * bytes);
            bulk(sa[st], ra + c * C, bytes, &full[st]);
            bulk(sb[st], rb + c * C, bytes, &full[st]);
        };
        if (lane == 0) for (int c = 0; c < S - 1 && c < chunks; c++) fill(c);
        __syncwarp();
        for (int c = 0; c < chunks; c++) {
            const int st = c % S;
            if (lane == 0 && c + S - 1 < chunks) fill(c + S - 1);
            if (lane == 0) bar_wait(&full[st], (c / S) & 1);
            __syncwarp();
            const int have = min(C, columns - c * C);
            for (int j = lane; j < have; j += 32) s += __half2float(sa[st][j]) * __half2float(sb[st][j]);
            __syncwarp();
        }
    }
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(0xffffffffu, s, k);
    if (lane == 0) y[blockIdx.x] = s;
}
