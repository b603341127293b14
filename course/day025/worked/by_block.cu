// Counts x into bins of the block's own, and adds those to the counts. `run` and `spread` as in global.cu.
//
// entry: by_block
// block: 256
// grid: ceil(n/4096)

extern "C" __global__ void by_block(const int* x, int* counts, int run, int spread, int n)
{
    __shared__ int bins[256];

    const int t = threadIdx.x, first = blockIdx.x * 4096;
    bins[t] = 0;
    __syncthreads();

    for (int i = first + t; i < min(n, first + 4096); i += 256) {
        const int bin = x[i] / run * spread % 256;
        atomicAdd(&bins[bin], 1);
    }
    __syncthreads();
    atomicAdd(&counts[t], bins[t]);
}
