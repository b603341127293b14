// A chain of tiles: each waits for the sum before it, read with acquire, and publishes its own with release, in order of tickets.
// grid: max(1, ceil(n/2048))
// block: 256
#include <cuda/atomic>
__device__ float prefix_of[2097152];
__device__ cuda::atomic<unsigned int, cuda::thread_scope_device> ready;   // tiles whose prefix is there
__device__ cuda::atomic<unsigned int, cuda::thread_scope_device> ticket;
__global__ void scan(const float* __restrict__ x, float* __restrict__ y, int n)
{
    __shared__ unsigned int tile_s;
    __shared__ float w[8], before_s;
    const int t = threadIdx.x;
    if (t == 0) tile_s = ticket.fetch_add(1u, cuda::memory_order_relaxed);
    __syncthreads();
    const unsigned int tile = tile_s;
    const long long at = (long long)tile * 2048 + t * 8;
    float v[8], s = 0.0f;
#pragma unroll
    for (int k = 0; k < 8; ++k) { s += at + k < n ? x[at + k] : 0.0f; v[k] = s; }
    float inc = s;
    for (int o = 1; o < 32; o *= 2) { const float u = __shfl_up_sync(~0u, inc, o); if (t % 32 >= o) inc += u; }
    if (t % 32 == 31) w[t / 32] = inc;
    __syncthreads();
    if (t == 0) {
        float run = 0.0f;
        for (int k = 0; k < 8; ++k) { const float u = w[k]; w[k] = run; run += u; }
        while (ready.load(cuda::memory_order_acquire) != tile) __nanosleep(10);
        const float before = tile ? prefix_of[tile - 1] : 0.0f;
        before_s = before;
        prefix_of[tile] = before + run;
        if (tile == gridDim.x - 1) {
            ticket.store(0u, cuda::memory_order_relaxed);
            ready.store(0u, cuda::memory_order_release);
        } else ready.store(tile + 1, cuda::memory_order_release);
    }
    __syncthreads();
    const float up = __shfl_up_sync(~0u, inc, 1), base = before_s + w[t / 32] + (t % 32 ? up : 0.0f);
#pragma unroll
    for (int k = 0; k < 8; ++k) if (at + k < n) y[at + k] = base + v[k];
}
