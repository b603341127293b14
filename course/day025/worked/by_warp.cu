// Counts x into bins of the warp's own, and adds those of all warps to the counts. `run` and `spread` as in global.cu.
//
// entry: by_warp
// block: 256
// grid: ceil(n/4096)

extern "C" __global__ void by_warp(const int* x, int* counts, int run, int spread, int n)
{
    __shared__ int bins[8][256];

    const int t = threadIdx.x, warp = t / 32, first = blockIdx.x * 4096;
    for (int w = 0; w < 8; ++w) bins[w][t] = 0;
    __syncthreads();

    for (int i = first + t; i < min(n, first + 4096); i += 256) {
        const int bin = x[i] / run * spread % 256;
        atomicAdd(&bins[warp][bin], 1);
    }
    __syncthreads();

    int sum = 0;
    for (int w = 0; w < 8; ++w) sum += bins[w][t];
    atomicAdd(&counts[t], sum);
}
