// cuda::semaphore, latch and barrier together: at most three warps of a block are inside at a time.
#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/semaphore>
extern "C" __global__ void guarded(int *most, int *total, const int *x, int *y) {
    using Semaphore = cuda::counting_semaphore<cuda::thread_scope_block, 3>;
    using Latch = cuda::latch<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ alignas(Semaphore) char room[sizeof(Semaphore)];
    __shared__ alignas(Latch) char gate[sizeof(Latch)];
    __shared__ int inside, sum[8];
    auto &semaphore = *(Semaphore *)room;
    auto &latch = *(Latch *)gate;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) { new (room) Semaphore(3); new (gate) Latch(blockDim.x / 32); inside = 0; }
    __syncthreads();
    if (lane == 0) {
        semaphore.acquire();
        atomicMax(most, atomicAdd(&inside, 1) + 1);
        sum[warp] = 0;
        for (int i = 0; i < 16; ++i) sum[warp] += x[warp * 16 + i];
        atomicSub(&inside, 1);
        semaphore.release();
        latch.arrive_and_wait();
        if (warp == 0) for (int w = 0; w < blockDim.x / 32; ++w) atomicAdd(total, sum[w]);
    }
    y[threadIdx.x] = warp;
}
