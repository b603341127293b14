// grid: min(ceil(n/1024), 256)
// block: 256
// fault: missing barrier
// kinds: race
// all 256 threads store their bin of the block and fence; thread 0 counts the block with no barrier
// between, so before the other warps may have stored; the last block adds up all blocks' bins.
__device__ int part[256 * 256];
__device__ unsigned done;
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ int bins[256];
    __shared__ bool last;
    int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    for (long long i = blockIdx.x * 256ll + t; i < n; i += 256ll * gridDim.x) {
        float v = floorf(x[i] * 32.0f);
        if (v >= -128.0f && v < 128.0f) atomicAdd(bins + (int)v + 128, 1);
    }
    __syncthreads();
    part[blockIdx.x * 256 + t] = bins[t];
    __threadfence();
    if (t == 0) last = atomicAdd(&done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    int sum = 0;
    for (int b = 0; b < gridDim.x; ++b) sum += *(volatile int*)&part[b * 256 + t];
    counts[t] += sum;
    if (t == 0) done = 0;
}
