// grid: 64
// block: 256
// fault: race
// kinds: race
// The last block adds up the others' partial sums, but there is no __threadfence between a block's store of its sum and its arrival: the sums need not be visible yet (weak memory; every n).

__device__ float partial[64];
__device__ unsigned int arrivals = 0;

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float sums[256];
    __shared__ bool last;
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * 256 + t; i < n; i += 256 * gridDim.x) sum += x[i];
    sums[t] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s) sums[t] += sums[t + s];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = sums[0];
        last = atomicAdd(&arrivals, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float all = 0.0f;
        for (int k = 0; k < 64; ++k) all += partial[k];
        *total += all;
        arrivals = 0;
    }
}
