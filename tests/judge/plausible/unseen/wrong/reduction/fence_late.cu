// grid: 64
// block: 256
// fault: fence too late
// kinds: race
// The ticket is drawn before the fence: the last block may add up partial sums that have not arrived.
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
        last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (int k = 0; k < gridDim.x; ++k) sum += partial[k];
        *total += sum;
    }
}
