// grid: 2*SMS
// block: 256
// fault: member mask
// kinds: member_mask inactive_lane
// Warp sums by shuffles with a full mask inside the grid-stride loop: the lanes past the end have left the loop
// and wait at the barrier behind it.

__global__ void reduction(const float* x, float* total, int n) {
    __shared__ float s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        float v = x[i];
        unsigned m = __ballot_sync(0xffffffffu, true);
        for (int k = 16; k; k >>= 1) { float o = __shfl_down_sync(0xffffffffu, v, k); if (m >> ((threadIdx.x & 31) + k) & 1 && (threadIdx.x & 31) + k < 32) v += o; }
        if ((threadIdx.x & 31) == 0) atomicAdd(&s, v);
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(total, s);
}
