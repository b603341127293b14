// Tiles apart: every block begins at zero, and nobody tells it what lies before.
//
// entry: scan_tiles_apart
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void scan_tiles_apart(const float* x, float* y, int n)
{
    __shared__ float sums[2][256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    int from = 0;
    sums[from][t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        sums[1 - from][t] = sums[from][t] + (t >= d ? sums[from][t - d] : 0.0f);
        from = 1 - from;
        __syncthreads();
    }
    if (i < n) y[i] = sums[from][t];
}
