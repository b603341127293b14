// grid: ceil(N/64) M
// block: 96
// Warp 0 brings x by cp.async through a ring of two pieces of 64; warps 1 and 2 multiply. Named barriers say full and empty.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
__device__ void arrive(int id) { asm volatile("bar.arrive %0, 96;" :: "r"(id) : "memory"); }
__device__ void sync(int id) { asm volatile("bar.sync %0, 96;" :: "r"(id) : "memory"); }
__global__ void linear_roles(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    __shared__ __align__(16) __half ring[2][32];
    const int K = 32 * steps, m = blockIdx.y, lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int step = 0; step < steps; ++step) {
            const int slot = step & 1;
            if (step >= 2) sync(3 + slot);
            if (lane < 4) __pipeline_memcpy_async(&ring[slot][8 * lane], x + (size_t)m * K + 32 * step + 8 * lane, 16);
            __pipeline_commit();
            __pipeline_wait_prior(0);
            __syncwarp();
            arrive(1 + slot);
        }
        return;
    }
    const int n = blockIdx.x * 64 + threadIdx.x - 32;
    float s = 0;
    for (int step = 0; step < steps; ++step) {
        const int slot = step & 1;
        sync(1 + slot);
        if (n < N)
            for (int k = 0; k < 32; ++k) s += __half2float(ring[slot][k]) * __half2float(weight[(size_t)n * K + 32 * step + k]);
        if (step + 2 < steps) arrive(3 + slot);
    }
    if (n < N) y[(size_t)m * N + n] = __float2half(s + __half2float(bias[n]));
}
