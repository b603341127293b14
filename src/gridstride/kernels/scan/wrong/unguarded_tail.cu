// Unguarded tail: the last tile is read and written as if it were full.
//
// entry: scan_unguarded_tail
// block: 256
// grid: 1
// expect: out_of_bounds

extern "C" __global__ void scan_unguarded_tail(const float* x, float* y, int n)
{
    __shared__ float sums[2][256];
    const int t = threadIdx.x;
    float carry = 0.0f;
    for (int first = 0; first < n; first += 256) {
        int from = 0;
        sums[from][t] = x[first + t];  // <- here
        __syncthreads();
        for (int d = 1; d < 256; d *= 2) {
            sums[1 - from][t] = sums[from][t] + (t >= d ? sums[from][t - d] : 0.0f);
            from = 1 - from;
            __syncthreads();
        }
        y[first + t] = carry + sums[from][t];  // <- here
        carry += sums[from][255];
        __syncthreads();
    }
}
