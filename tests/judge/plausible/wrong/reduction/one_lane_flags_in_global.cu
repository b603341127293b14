// grid: 16
// block: 64
// fault: missing syncwarp
// kinds: race
// One warp leaves sums in global memory and its lane 0 sets a flag in shared memory for all; the other warp joins them.

__device__ float sums[16 * 32];
__global__ void reduction(const float* x, float* total, int n) {
    __shared__ volatile int ready;
    const int t = threadIdx.x, lane = t % 32;
    if (t == 0) ready = 0;
    __syncthreads();
    if (t < 32) {
        float v = 0;
        for (long long i = blockIdx.x * 32 + lane; i < n; i += 16 * 32) v += x[i];
        sums[blockIdx.x * 32 + lane] = v;
        __threadfence_block();
        if (lane == 0) ready = 1;
    } else {
        if (lane == 0) while (!ready) {}
        __syncwarp();
        __threadfence_block();
        float v = sums[blockIdx.x * 32 + lane];
        for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
        if (lane == 0) atomicAdd(total, v);
    }
}
