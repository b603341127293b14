// total += x[0] + … + x[n - 1], each warp in registers, one addition to the total for each block.
//
// The launch, as threads in each block and blocks in the grid, worked out from n and rounded up:
//
// block: 256
// grid: ceil(n/256)

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr unsigned int ALL_LANES = 0xffffffffu;

// A device function: the kernel calls it, and each lane comes to it with a value of its own.
__device__ float warp_sum(float value)
{
    // 1. Five shuffles: after them lane 0 has the sum of all 32 lanes.
    return value;
}

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    __shared__ float warp_sums[WARPS];

    const int t = threadIdx.x;
    const int i = blockIdx.x * THREADS + t;
    const float of_warp = warp_sum(i < n ? x[i] : 0.0f);

    // 2. Lane 0 of each warp puts its sum into `warp_sums`. What has to come before anybody reads them?

    // 3. The first warp adds up the eight sums, and one lane adds the result to the total.
}
