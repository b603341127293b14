// grid: min(64, ceil(n/256))
// block: 256
// fault: ticket modulo grid
// kinds: race
// The ticket is never set back, and taken modulo the grid: after a launch with another grid it is no multiple any more.
__device__ float partial[64];
__device__ unsigned ticket;
__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[256];
    __shared__ bool last;
    float v = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) v += x[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int d = 128; d; d >>= 1) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicAdd(&ticket, 1) % gridDim.x == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (int k = 0; k < gridDim.x; ++k) sum += partial[k];
        *total += sum;
    }
}
