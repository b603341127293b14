// 05 look back: one pass. A tile publishes its own sum, looks back over its predecessors until one knows the sum of
// all up to it, and publishes its own such sum for those behind.
//
// Moves: bytes, from 12 to 8 for each element: x is read once. Barriers of the whole grid, from one to none; a grid
//   may be larger than the GPU.
// Mapping: the block that draws ticket k -> tile k of 2048 elements. Warp w -> 256 of them, 8 rows of 32.
//
// entry: scan_look_back
// block: 256
// grid: ceil(n/2048)

constexpr int WARPS = 8;
constexpr int THREADS = 32 * WARPS;
constexpr int ROWS = 8;                        // elements of each thread
constexpr int TILE = THREADS * ROWS;           // elements
constexpr int MOST_TILES = (1ll << 31) / TILE;
constexpr unsigned int ALL_LANES = 0xffffffffu;
constexpr unsigned int OWN = 1, RUNNING = 2;  // what a tile has published: its sum, that of all up to it

typedef unsigned long long Word;

// Flag and value in one word, so that nobody sees one without the other: the value's 32 bits, 2 of what it is, and 30
// of the launch's number, by which what earlier launches have left counts as nothing and need not be cleared.
__device__ Word published[MOST_TILES];
__device__ Word tickets;  // launch number above, next tile below

__device__ __forceinline__ Word word(unsigned int launch, unsigned int what, float value)
{
    return (Word)(launch << 2 | what) << 32 | __float_as_uint(value);
}

__device__ __forceinline__ void publish(int tile, Word value)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(published + tile), "l"(value) : "memory");
}

__device__ __forceinline__ Word look_at(int tile)
{
    Word value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(published + tile) : "memory");
    return value;
}

__device__ __forceinline__ float warp_scan(float value)
{
    const int lane = threadIdx.x % 32;
    for (int distance = 1; distance < 32; distance *= 2) {
        const float before = __shfl_up_sync(ALL_LANES, value, distance);
        if (lane >= distance) value += before;
    }
    return value;
}

// A tile that has a ticket has begun, and all before it too: who waits for them waits for blocks that run.
__device__ __forceinline__ Word draw_ticket()
{
    const Word ticket = atomicAdd(&tickets, 1ull);
    const unsigned int launch = ticket >> 32;
    if ((unsigned int)ticket == gridDim.x - 1) atomicExch(&tickets, (Word)((launch + 1) & 0x3fffffff) << 32);
    return ticket;
}

// Sum of all tiles before `tile`.
__device__ float look_back(int tile, unsigned int launch)
{
    float before = 0.0f;
    for (int from = tile - 1; from >= 0;) {
        const Word seen = look_at(from);
        const unsigned int what = (unsigned int)(seen >> 32) - (launch << 2);
        if (what != OWN && what != RUNNING) {  // nothing yet
            __nanosleep(32);
            continue;
        }
        before = __uint_as_float((unsigned int)seen) + before;
        if (what == RUNNING) break;
        --from;
    }
    return before;
}

extern "C" __global__ void __launch_bounds__(THREADS)
scan_look_back(const float* __restrict__ x, float* __restrict__ y, int n)
{
    __shared__ Word shared_ticket;
    __shared__ float warp_sums[WARPS], shared_before;

    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    if (t == 0) shared_ticket = draw_ticket();
    __syncthreads();
    const int tile = (int)(unsigned int)shared_ticket;
    const unsigned int launch = shared_ticket >> 32;
    const long long first = (long long)tile * TILE + warp * (TILE / WARPS) + lane;

    float sums[ROWS], carry = 0.0f;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sums[r] = first + 32 * r < n ? x[first + 32 * r] : 0.0f;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        sums[r] = carry + warp_scan(sums[r]);
        carry = __shfl_sync(ALL_LANES, sums[r], 31);
    }
    if (lane == 0) warp_sums[warp] = carry;
    __syncthreads();

    if (t == 0) {
        float sum = 0.0f;
        for (int w = 0; w < WARPS; ++w) {  // to what lies before each warp
            const float of_warp = warp_sums[w];
            warp_sums[w] = sum;
            sum += of_warp;
        }
        if (tile > 0) publish(tile, word(launch, OWN, sum));
        shared_before = look_back(tile, launch);
        publish(tile, word(launch, RUNNING, shared_before + sum));
    }
    __syncthreads();

    const float before = shared_before + warp_sums[warp];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        if (first + 32 * r < n) y[first + 32 * r] = before + sums[r];
    }
}
