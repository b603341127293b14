// Add later. Each block scans its stretch, and goes over the result again once it knows what lies before. That is how one would
// do it by hand, and it is right; but what was just written is read and written once more.
//
// entry: scan
// block: 256
// grid: 16
// cooperative: yes
// expect: too_many passes

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;

__device__ float block_sums[256];
__device__ unsigned int arrived, rounds;

// All blocks wait for each other, which only a cooperative launch allows. Day 36 has a function for it.
__device__ void wait_for_all_blocks()
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned int mine = atomicAdd(&rounds, 0u);
        __threadfence();
        if (atomicAdd(&arrived, 1u) == gridDim.x - 1) {
            atomicExch(&arrived, 0u);
            __threadfence();
            atomicAdd(&rounds, 1u);
        } else {
            while (atomicAdd(&rounds, 0u) == mine) __nanosleep(100);
        }
        __threadfence();
    }
    __syncthreads();
}

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
    const int t = threadIdx.x, share = (n + gridDim.x - 1) / gridDim.x;
    const int begin = blockIdx.x * share, end = min(n, begin + share);

    float of_stretch = 0.0f, total, before;
    for (int first = begin; first < end; first += THREADS) {
        const float own = first + t < end ? x[first + t] : 0.0f;
        const float left = scan_of_block(own, total);
        if (first + t < end) y[first + t] = of_stretch + (left + own);
        of_stretch += total;
    }
    if (t == 0) block_sums[blockIdx.x] = of_stretch;
    wait_for_all_blocks();
    scan_of_block(t < blockIdx.x ? block_sums[t] : 0.0f, before);

    for (int i = begin + t; i < end; i += THREADS) y[i] += before;
}
