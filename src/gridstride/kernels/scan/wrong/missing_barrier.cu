// Missing barrier: a round begins before the round before it has ended in every warp.
//
// entry: scan_missing_barrier
// block: 1024
// grid: 1
// expect: race

extern "C" __global__ void scan_missing_barrier(const float* x, float* y, int n)
{
    __shared__ float sums[2][1024];
    const int t = threadIdx.x;
    float carry = 0.0f;
    for (int first = 0; first < n; first += 1024) {
        int from = 0;
        sums[from][t] = first + t < n ? x[first + t] : 0.0f;
        __syncthreads();
        for (int d = 1; d < 1024; d *= 2) {
            const float own = sums[from][t];
            sums[1 - from][t] = t >= d ? sums[from][t - d] + own : own;  // <- here
            from = 1 - from;
        }
        __syncthreads();
        if (first + t < n) y[first + t] = carry + sums[from][t];
        carry += sums[from][1023];
        __syncthreads();
    }
}
