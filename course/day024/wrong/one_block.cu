// One block. With a single block nobody has to be waited for but the block's own threads, x is read once, and the answer is right.
// It is one multiprocessor of 132 that works. The other 131 have nothing to do.
//
// block: 1024
// grid: 1
// expect: too_many elements_of_a_thread

constexpr int THREADS = 1024;
constexpr int WARPS = THREADS / 32;

// What lies before this thread's value in the block; `total` is the sum of all of them.
__device__ float scan_of_block(float value, float& total)
{
    __shared__ float warp_sums[WARPS];

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = value;
    for (int d = 1; d < 32; d *= 2) {
        const float left = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d) sum += left;
    }
    if (lane == 31) warp_sums[warp] = sum;
    float before = __shfl_up_sync(0xffffffffu, sum, 1);
    if (lane == 0) before = 0.0f;
    __syncthreads();

    total = 0.0f;
    for (int w = 0; w < WARPS; ++w) {
        if (w == warp) before += total;
        total += warp_sums[w];
    }
    __syncthreads();
    return before;
}

extern "C" __global__ void scan(const float* x, float* y, int n)
{
    const int t = threadIdx.x;
    float before = 0.0f, total;
    for (long long first = 0; first < n; first += THREADS) {
        const float own = first + t < n ? x[first + t] : 0.0f;
        const float left = scan_of_block(own, total);
        if (first + t < n) y[first + t] = before + (left + own);
        before += total;
    }
}
