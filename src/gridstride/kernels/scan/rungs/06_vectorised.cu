// 06 vectorised: 16 bytes per access, and a warp that looks at 32 predecessors at a time.
//
// Moves: requests to global memory, to 1/4; bytes on their way per thread, from 32 to 64; steps of a look-back, to 1/32
//   of its length. What is left is the time to read x and to write y once.
// Mapping: the block that draws ticket k -> tile k of 4096 elements. Warp w -> 512 of them, 4 rows of 128, of which
//   lane l has elements 4l to 4l + 3: neighbouring lanes read neighbouring 16 bytes, and five shuffles scan a row.
//   Arrays that do not start on a 16-byte boundary, and a last tile that is not full, go element by element.
//
// entry: scan_vectorised
// block: 256
// grid: ceil(n/4096)

constexpr int WARPS = 8;
constexpr int THREADS = 32 * WARPS;
constexpr int ROWS = 4;                        // float4 of each thread
constexpr int TILE = THREADS * ROWS * 4;       // elements
constexpr int MOST_TILES = (1ll << 31) / TILE;
constexpr unsigned int ALL_LANES = 0xffffffffu;
constexpr unsigned int OWN = 1, RUNNING = 2;   // what a tile has published: its sum, that of all up to it

typedef unsigned long long Word;

// As in 05: what a tile has published, and which tile is next; both name the launch that they belong to.
__device__ Word published[MOST_TILES];  // value below; above it what it is, 2 bits, and the launch's number, 30 bits
__device__ Word tickets;                // launch number above, next tile below

__device__ __forceinline__ void publish(int tile, unsigned int launch, unsigned int what, float value)
{
    const Word word = (Word)(launch << 2 | what) << 32 | __float_as_uint(value);
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(published + tile), "l"(word) : "memory");
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
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const float before = __shfl_up_sync(ALL_LANES, value, distance);
        if (lane >= distance) value += before;
    }
    return value;
}

__device__ __forceinline__ float warp_sum(float value)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(ALL_LANES, value, distance);
    return value;
}

__device__ __forceinline__ Word draw_ticket()
{
    const Word ticket = atomicAdd(&tickets, 1ull);
    const unsigned int launch = ticket >> 32;
    if ((unsigned int)ticket == gridDim.x - 1) atomicExch(&tickets, (Word)((launch + 1) & 0x3fffffff) << 32);
    return ticket;
}

// Sum of all tiles before `tile`, by one warp, in every lane. Lane l looks at the predecessor that is l + 1 back; what
// is before the first tile is a running sum of nothing.
__device__ __forceinline__ float look_back(int tile, unsigned int launch)
{
    const int lane = threadIdx.x % 32;
    float before = 0.0f;
    for (int from = tile - 1 - lane;; from -= 32) {
        unsigned int running, nearer;
        float value;
        for (;;) {
            const Word seen = from >= 0 ? look_at(from) : (Word)(launch << 2 | RUNNING) << 32;
            const unsigned int what = (unsigned int)(seen >> 32) - (launch << 2);
            value = __uint_as_float((unsigned int)seen);
            running = __ballot_sync(ALL_LANES, what == RUNNING);
            nearer = (running & -running) - 1;  // all lanes where there is no running sum
            if (!__any_sync(ALL_LANES, (nearer >> lane & 1) && what != OWN)) break;
            __nanosleep(32);  // one of them has published nothing yet: leave the memory to those who work
        }
        const bool counts = (nearer >> lane & 1) || lane == __ffs(running) - 1;
        before = warp_sum(counts ? value : 0.0f) + before;
        if (running) return before;
    }
}

__device__ __forceinline__ float4 load4(const float* x, long long i, int n, bool vectors)
{
    if (vectors) return __ldcs(reinterpret_cast<const float4*>(x + i));
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (i < n) v.x = x[i];
    if (i + 1 < n) v.y = x[i + 1];
    if (i + 2 < n) v.z = x[i + 2];
    if (i + 3 < n) v.w = x[i + 3];
    return v;
}

__device__ __forceinline__ void store4(float* y, long long i, int n, bool vectors, float4 v)
{
    if (vectors) {
        __stcs(reinterpret_cast<float4*>(y + i), v);
        return;
    }
    if (i < n) y[i] = v.x;
    if (i + 1 < n) y[i + 1] = v.y;
    if (i + 2 < n) y[i + 2] = v.z;
    if (i + 3 < n) y[i + 3] = v.w;
}

extern "C" __global__ void __launch_bounds__(THREADS)
scan_vectorised(const float* __restrict__ x, float* __restrict__ y, int n)
{
    __shared__ Word shared_ticket;
    __shared__ float warp_sums[WARPS], shared_before;

    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    if (t == 0) shared_ticket = draw_ticket();
    __syncthreads();
    const int tile = (int)(unsigned int)shared_ticket;
    const unsigned int launch = shared_ticket >> 32;
    const long long first = (long long)tile * TILE + warp * (TILE / WARPS) + 4 * lane;
    const bool vectors = (((size_t)x | (size_t)y) & 15) == 0 && (tile + 1ll) * TILE <= n;

    float4 v[ROWS];
    float sums[ROWS], carry = 0.0f;  // of a row up to this lane's four elements
#pragma unroll
    for (int r = 0; r < ROWS; ++r) v[r] = load4(x, first + 128 * r, n, vectors);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        v[r].y += v[r].x;
        v[r].z += v[r].y;
        v[r].w += v[r].z;
        sums[r] = warp_scan(v[r].w);
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const float row_sum = __shfl_sync(ALL_LANES, sums[r], 31);
        const float before = __shfl_up_sync(ALL_LANES, sums[r], 1);
        sums[r] = lane == 0 ? carry : carry + before;  // now of all that this warp has before those four
        carry += row_sum;
    }
    if (lane == 0) warp_sums[warp] = carry;
    __syncthreads();

    if (warp == 0) {
        const float of_warps = warp_scan(lane < WARPS ? warp_sums[lane] : 0.0f);
        const float sum = __shfl_sync(ALL_LANES, of_warps, WARPS - 1);
        if (lane == 0 && tile > 0) publish(tile, launch, OWN, sum);
        const float before = look_back(tile, launch);
        if (lane == 0) {
            publish(tile, launch, RUNNING, before + sum);
            shared_before = before;
        }
        const float of_warps_before = __shfl_up_sync(ALL_LANES, of_warps, 1);
        if (lane < WARPS) warp_sums[lane] = lane == 0 ? 0.0f : of_warps_before;
    }
    __syncthreads();

    const float before = shared_before + warp_sums[warp];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const float s = before + sums[r];
        store4(y, first + 128 * r, n, vectors, make_float4(s + v[r].x, s + v[r].y, s + v[r].z, s + v[r].w));
    }
}
