// As by_block.cu, but what is added is a weight and not the constant 1.
//
// entry: weighted
// block: 256
// grid: ceil(n/4096)

extern "C" __global__ void weighted(const int* x, int* counts, int run, int spread, int weight, int n)
{
    __shared__ int bins[256];

    const int t = threadIdx.x, first = blockIdx.x * 4096;
    bins[t] = 0;
    __syncthreads();

    for (int i = first + t; i < min(n, first + 4096); i += 256) {
        const int bin = x[i] / run * spread % 256;
        atomicAdd(&bins[bin], weight);
    }
    __syncthreads();
    atomicAdd(&counts[t], bins[t]);
}
