// grid: 1
// block: 1024
// One block for the whole vector, in a while (true) loop with a break, sums in double.

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ double sums[32];
    double sum = 0.0;
    size_t i = threadIdx.x;
    while (true) {
        if (i >= (size_t)n) break;
        sum += x[i];
        i += 1024;
    }
    for (int d = 1; d < 32; d <<= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = sums[threadIdx.x];
    for (int d = 1; d < 32; d <<= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0) *total = (float)(*total + sum);
}
