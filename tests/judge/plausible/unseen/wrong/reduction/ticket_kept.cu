// grid: min(ceil(n/1024), 512)
// block: 256
// fault: stale state between launches
// kinds: wrong_result
// The ticket is compared with gridDim.x - 1 and never set back: from the second launch on no block is the last.
__device__ float partial[512];
__device__ unsigned int ticket;

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[256];
    __shared__ bool last;
    float v = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) v += x[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicAdd(&ticket, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; ++b) sum += partial[b];
        *total += sum;
    }
}
