// Sixteen running sums by Hillis and Steele: what the threads hold at first and after each round, a row for each.
//
// entry: rounds
// block: 16
// grid: 1

extern "C" __global__ void rounds(const float* x, float* y)
{
    __shared__ float sums[2][16];

    const int t = threadIdx.x;
    int from = 0, row = 0;
    sums[0][t] = x[t];
    y[t] = x[t];
    __syncthreads();

    for (int d = 1; d < 16; d *= 2) {
        const float before = t >= d ? sums[from][t - d] : 0.0f;
        sums[1 - from][t] = before + sums[from][t];
        from = 1 - from;
        __syncthreads();
        y[16 * ++row + t] = sums[from][t];
    }
}
