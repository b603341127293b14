// grid: min(ceil(n/128)+1,SMS)
// block: 128
// cooperative: yes
// fault: barrier
// kinds: deadlock
// A sense-reversing barrier that lets the others go before it resets its count: who is fast arrives and is forgotten.

__device__ double sum; __device__ unsigned here; __device__ volatile unsigned sense;
__device__ void meet() {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned old = sense;
        if (atomicAdd(&here, 1u) == gridDim.x - 1) { sense = old + 1; __threadfence(); atomicExch(&here, 0u); }
        else while (sense == old) {}
        __threadfence();
    }
    __syncthreads();
}
__global__ void remove_mean(const float* x, float* y, int n) {
    if (blockIdx.x == 0 && threadIdx.x == 0) sum = 0;
    meet();
    double v = 0;
    for (long long i = blockIdx.x * 128ll + threadIdx.x; i < n; i += gridDim.x * 128ll) v += x[i];
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) atomicAdd(&sum, v);
    meet();
    const float mean = (float)(__ldcg(&sum) / n);
    for (long long i = blockIdx.x * 128ll + threadIdx.x; i < n; i += gridDim.x * 128ll) y[i] = x[i] - mean;
}
