// Only the running sum is published. It is the better one of the two, who finds it need not look further back, and a
// tile's own sum looks like a step on the way. But nobody has it before the tile to the left has it. The tiles wait for
// each other in a row, and each is as late as all before it together.
//
// block: 256
// grid: ceil(n/256)
// expect: too_few words

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int NOTHING = 0, OWN = 1, RUNNING = 2;

__device__ unsigned long long words[1 << 20];  // one for each tile, enough for 268 million numbers
__device__ unsigned long long tickets;

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

// The tile that this block has to do. All tiles with lower numbers have been drawn by then. Called by thread 0.
__device__ int draw_ticket(unsigned int& launch)
{
    const unsigned long long ticket = atomicAdd(&tickets, 1ull);
    launch = (unsigned int)(ticket >> 32);  // 4 more in each launch: words of earlier ones count as nothing
    const unsigned long long next_launch = (unsigned long long)(launch + 4) << 32;
    if ((unsigned int)ticket == gridDim.x - 1) atomicExch(&tickets, next_launch);
    return (int)(unsigned int)ticket;
}

// Tells all blocks a sum and what it is, in one word: that of the tile alone (OWN), or of all up to its end (RUNNING).
__device__ void publish(int tile, unsigned int launch, int what, float sum)
{
    const unsigned long long above = launch + what;
    atomicExch(&words[tile], above << 32 | __float_as_uint(sum));
}

// What a tile has published last: OWN or RUNNING, and the sum. Or NOTHING yet.
__device__ int look_at(int tile, unsigned int launch, float& sum)
{
    const unsigned long long word = atomicAdd(&words[tile], 0ull);
    const unsigned int what = (unsigned int)(word >> 32) - launch;
    sum = __uint_as_float((unsigned int)word);
    return what == OWN || what == RUNNING ? what : NOTHING;
}

extern "C" __global__ void scan(const float* x, float* y, int n)
{
    __shared__ int shared_tile;
    __shared__ float shared_before;

    const int t = threadIdx.x;
    unsigned int launch = 0;
    if (t == 0) shared_tile = draw_ticket(launch);
    __syncthreads();
    const int tile = shared_tile;
    const long long i = (long long)tile * THREADS + t;

    float total;
    const float own = i < n ? x[i] : 0.0f;
    const float left = scan_of_block(own, total);

    if (t == 0) {
        float before = 0.0f;
        for (int from = tile - 1; from >= 0;) {
            float sum;
            const int what = look_at(from, launch, sum);
            if (what == NOTHING) continue;  // ask again
            before += sum;
            if (what == RUNNING) break;
            --from;
        }
        publish(tile, launch, RUNNING, before + total);
        shared_before = before;
    }
    __syncthreads();

    if (i < n) y[i] = shared_before + (left + own);
}
