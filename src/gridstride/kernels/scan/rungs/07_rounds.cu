// 07 rounds: blocks that stay, tiles in rounds, and nobody looks back: each block reads what all of a round have
//   published, a tile ahead of time.
//
// Moves: waiting. A tile's sum is published while the one two before it is still to be written, so that it is there
//   when its round asks; the copy engine brings the tiles after that. Additions have one order: runs agree to the bit.
// Mapping: round k, block b -> tile k * gridDim.x + b of 8192 elements, in one of six buffers. Warp w -> 1024 of them,
//   8 rows of 128, of which lane l has elements 4l to 4l + 3. An x that does not start on a 16-byte boundary, and a
//   last tile that is not full, go element by element.
//
// entry: scan_rounds
// block: 256
// grid: min(ceil(n/8192), SMS)
// shared: 4*6*8192
// cooperative: yes

constexpr int WARPS = 8;
constexpr int THREADS = 32 * WARPS;
constexpr int ROWS = 8;  // of 128 elements, of a warp
constexpr int TILE = WARPS * ROWS * 128;
constexpr int BUFFERS = 6;
constexpr int AHEAD = 2;            // tiles that are added up before one is written
constexpr int BLOCKS = 1;           // of a multiprocessor
constexpr int MOST_BLOCKS = 1024;   // that can be on a GPU together
constexpr int SLOTS = 2 * AHEAD;    // rounds that are published at a time: nobody is further ahead
constexpr int LOOKS = (MOST_BLOCKS + THREADS - 1) / THREADS;
constexpr unsigned int ALL_LANES = 0xffffffffu;

typedef unsigned long long Word;

// Sums of two rounds' tiles: the value below, above it the launch and whether the slot is in its even or odd use, so
// that what the launch before or the round before the last has left is not taken for an answer.
__device__ Word published[SLOTS][MOST_BLOCKS];
__device__ Word tickets;  // launch number above, blocks that have begun below

__device__ __forceinline__ unsigned int shared_address(const void* p)
{
    return (unsigned int)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ unsigned int tag_of(unsigned int launch, int round)
{
    return launch << 2 | 2 | (round / SLOTS & 1);  // never 0, which a new module has
}

__device__ __forceinline__ void publish(unsigned int launch, int round, float sum)
{
    const Word word = (Word)tag_of(launch, round) << 32 | __float_as_uint(sum);
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(&published[round % SLOTS][blockIdx.x]), "l"(word)
                 : "memory");
}

__device__ __forceinline__ Word look_at(int round, int block)
{
    Word value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(&published[round % SLOTS][block])
                 : "memory");
    return value;
}

// The launch's number; each block asks once, and the last one sets the counter to the next launch's start.
__device__ __forceinline__ unsigned int launch_number()
{
    const Word ticket = atomicAdd(&tickets, 1ull);
    const unsigned int launch = ticket >> 32;
    if ((unsigned int)ticket == gridDim.x - 1) atomicExch(&tickets, (Word)(launch + 1 & 0x3fffffff) << 32);
    return launch;
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

__device__ __forceinline__ void wait_for(Word* full, int use)
{
    asm volatile("{\n.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n}" ::"r"(shared_address(full)), "r"(use & 1) : "memory");
}

struct Sums {
    float own, lower, all;  // of this block's next tile; of the round's tiles before this block's; of all of the round
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
scan_rounds(const float* __restrict__ x, float* __restrict__ y, int n)
{
    extern __shared__ __align__(128) float buffers[];  // [BUFFERS][TILE]
    __shared__ __align__(8) Word full[BUFFERS];
    __shared__ Sums of_warps[2][WARPS];
    __shared__ unsigned int shared_launch;

    const int t = threadIdx.x, lane = t % 32, warp = t / 32, blocks = gridDim.x;
    const int tiles = (n + (TILE - 1ll)) / TILE, rounds = (tiles - (int)blockIdx.x + blocks - 1) / blocks;
    const bool bulk = ((size_t)x & 15) == 0, vectors = ((size_t)y & 15) == 0;

    auto tile_of = [&](int round) { return (long long)round * blocks + blockIdx.x; };
    auto by_engine = [&](int round) { return bulk && (tile_of(round) + 1) * TILE <= n; };
    auto fetch = [&](int round) {  // by all threads
        float* to = buffers + round % BUFFERS * TILE;
        const long long first = tile_of(round) * TILE;
        if (by_engine(round)) {
            if (t == 0) {
                const unsigned int barrier = shared_address(&full[round % BUFFERS]);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(4 * TILE)
                             : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                             ::"r"(shared_address(to)), "l"(x + first), "r"(4 * TILE), "r"(barrier) : "memory");
            }
            return;
        }
        for (int i = t; i < TILE; i += THREADS) to[i] = first + i < n ? x[first + i] : 0.0f;
    };
    auto row = [&](int round, int r) -> float4 {
        return reinterpret_cast<const float4*>(buffers + round % BUFFERS * TILE)[(warp * ROWS + r) * 32 + lane];
    };
    auto sum_of = [&](int round) {  // of this warp's part of a tile, in all lanes
        if (by_engine(round)) wait_for(&full[round % BUFFERS], round / BUFFERS);
        float sum = 0.0f;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const float4 v = row(round, r);
            sum += (v.x + v.y) + (v.z + v.w);
        }
        return warp_sum(sum);
    };

    if (t == 0) {
        for (int b = 0; b < BUFFERS; ++b)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[b])) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    for (int round = 0; round < BUFFERS && round < rounds; ++round) fetch(round);
    if (t == 0) shared_launch = launch_number();
    __syncthreads();  // what was written without the copy engine, too
    const unsigned int launch = shared_launch;

    float base = 0.0f;     // of all rounds before
    float of_lower[AHEAD + 1];  // warps, of this tile and those that were added up since
    for (int round = -AHEAD; round < rounds; ++round) {
        // What the round's blocks have published: asked for now, needed when the next tile has been added up.
        Word seen[LOOKS];
        const int others = min(blocks, tiles - max(round, 0) * blocks);
        if (round >= 0)
#pragma unroll
            for (int k = 0; k < LOOKS; ++k)
                if (k * THREADS + t < others) seen[k] = look_at(round, k * THREADS + t);
        const int next = round + AHEAD;
        const float own = next < rounds ? sum_of(next) : 0.0f;
        float lower = 0.0f, all = 0.0f;
        if (round >= 0) {
#pragma unroll
            for (int k = 0; k < LOOKS; ++k) {
                const int other = k * THREADS + t;
                if (other >= others) continue;
                while ((unsigned int)(seen[k] >> 32) != tag_of(launch, round)) seen[k] = look_at(round, other);
                const float sum = __uint_as_float((unsigned int)seen[k]);
                if (other < (int)blockIdx.x) lower += sum;
                all += sum;
            }
            lower = warp_sum(lower);
            all = warp_sum(all);
        }
        Sums* parts = of_warps[round & 1];
        if (lane == 0) parts[warp] = {own, lower, all};
        __syncthreads();
        Sums sums = {0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int w = 0; w < WARPS; ++w) {
            if (w == warp) of_lower[AHEAD] = sums.own;
            sums.own += parts[w].own;
            sums.lower += parts[w].lower;
            sums.all += parts[w].all;
        }
        if (t == 0 && next < rounds) publish(launch, next, sums.own);

        if (round >= 0) {
            float carry = base + sums.lower + of_lower[0];
            const long long first = tile_of(round) * TILE + warp * (ROWS * 128) + 4 * lane;
            const bool whole = vectors && (tile_of(round) + 1) * TILE <= n;
            float4 v[ROWS];
            float scanned[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                v[r] = row(round, r);
                v[r].y += v[r].x;
                v[r].z += v[r].y;
                v[r].w += v[r].z;
                scanned[r] = warp_scan(v[r].w);
            }
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const float up = __shfl_up_sync(ALL_LANES, scanned[r], 1);
                const float s = lane == 0 ? carry : carry + up;
                const float4 result = make_float4(s + v[r].x, s + v[r].y, s + v[r].z, s + v[r].w);
                const long long i = first + 128 * r;
                if (whole) {
                    __stcs(reinterpret_cast<float4*>(y + i), result);
                } else {
                    if (i < n) y[i] = result.x;
                    if (i + 1 < n) y[i + 1] = result.y;
                    if (i + 2 < n) y[i + 2] = result.z;
                    if (i + 3 < n) y[i + 3] = result.w;
                }
                carry += __shfl_sync(ALL_LANES, scanned[r], 31);
            }
        }
        base += sums.all;
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) of_lower[k] = of_lower[k + 1];
        if (round >= 0 && round + BUFFERS < rounds) {
            __syncthreads();  // all have read the tile
            fetch(round + BUFFERS);
        }
    }
}
