// grid: min(rows, 2*SMS)
// block: 160
// needs: 9.0
// Warp 4 copies, warps 0 to 3 take a stage each time it is full; stages are freed by counting in shared memory, behind __syncwarp and a fence.

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
    constexpr int S = 3, C = 128;
    __shared__ alignas(128) __half sa[S][C];
    __shared__ alignas(128) __half sb[S][C];
    __shared__ alignas(8) unsigned long long full[S];
    __shared__ int freed[S];
    __shared__ float part[4];
    const int t = threadIdx.x, lane = t & 31, w = t >> 5;
    if (columns % 8) {
        for (int r = blockIdx.x * 5 + w; r < rows; r += gridDim.x * 5) {
            float s = 0;
            for (int j = lane; j < columns; j += 32) s += __half2float(a[(size_t)r * columns + j]) * __half2float(b[(size_t)r * columns + j]);
            for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(0xffffffffu, s, k);
            if (lane == 0) y[r] = s;
        }
        return;
    }
    if (t == 0) {
        for (int k = 0; k < S; k++) { bar_init(&full[k], 1); freed[k] = 0; }
        init_fence();
    }
    __syncthreads();
    const int chunks = (columns + C - 1) / C;
    if (w == 4) {
        if (lane == 0) {
            int turn = 0;
            for (int r = blockIdx.x; r < rows; r += gridDim.x)
                for (int c = 0; c < chunks; c++, turn++) {
                    const int st = turn % S, bytes = min(C, columns - c * C) * 2;
                    if (turn >= S) { while (*(volatile int*)&freed[st] < 4 * (turn / S)) { } __threadfence_block(); }
                    bar_expect(&full[st], 2 * bytes);
                    bulk(sa[st], a + (size_t)r * columns + c * C, bytes, &full[st]);
                    bulk(sb[st], b + (size_t)r * columns + c * C, bytes, &full[st]);
                }
        }
    } else {
        int turn = 0;
        for (int r = blockIdx.x; r < rows; r += gridDim.x) {
            float s = 0;
            for (int c = 0; c < chunks; c++, turn++) {
                const int st = turn % S, have = min(C, columns - c * C);
                bar_wait(&full[st], (turn / S) & 1);
                for (int j = t; j < have; j += 128) s += __half2float(sa[st][j]) * __half2float(sb[st][j]);
                __syncwarp();
                if (lane == 0) { __threadfence_block(); atomicAdd(&freed[st], 1); }
            }
            for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(0xffffffffu, s, k);
            if (lane == 0) part[w] = s;
            asm volatile("bar.sync 1, 128;" ::: "memory");
            if (t == 0) y[r] = part[0] + part[1] + part[2] + part[3];
            asm volatile("bar.sync 1, 128;" ::: "memory");
        }
    }
}
