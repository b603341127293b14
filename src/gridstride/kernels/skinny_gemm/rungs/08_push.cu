// 08 push: x and sums travel as messages that are counted where they arrive; no block waits for the others to be done.
//
// Moves: the end of a block. In 06 and 07 a cluster meets twice: until sums are written, and until they are read. Each
//   time barrier.cluster.arrive.release is a MEMBAR.ALL.GPU, which waits for all stores on the chip's memory system,
//   y's as well. Here each warp sends its sums by st.async to the block that stores them, whose mbarrier counts the
//   bytes: one way instead of two meetings and a round trip, and a block that has sent and stored may go.
//   Two warps of their own fetch x, so that the others take their weights into registers while the kernel in front
//   still runs, and wait for x only: what is left behind it is ldmatrix of x and mma.
// Mapping: as in 06, and two warps more. UNITS of 16 weight rows by 8 rows of x, one float4 of each lane, go to the
//   blocks of the cluster, EACH to one; shuffles turn them for the store, 16 bytes of y in a row.
//   With SHARE 2, two neighbours of 16 WARPS weight rows are one cluster, and each sends half of x to both.
//
// entry: skinny_gemm_push
// block: 320
// grid: 4*ceil(N/128) ceil(M/32)
// shared: 8*2*16*(256+8)*2 + 4*32*128 + 32*(64*ceil(steps/4)+16)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT __half
#endif
#ifndef WARPS
#define WARPS 8      // that multiply
#define ROWS 32      // of x, of a block
#define SPLITS 4     // of K
#define COLUMNS 256  // of a slot of the ring
#define DEPTH 2      // slots of a warp's ring
#define SHARE 1      // blocks that fetch the same part of x together
#define GATED 0
#endif

#if __CUDA_ARCH__ >= 900
#define CLUSTER __cluster_dims__(SPLITS * SHARE, 1, 1)
#else
#define CLUSTER  // older chips have neither clusters nor bulk copies: it compiles, and does not run
#endif

constexpr int FETCHERS = 2;  // warps that fetch x: no more than take up registers that are left over anyway
constexpr int THREADS = 32 * (WARPS + FETCHERS);
constexpr int BESIDE = WARPS * COLUMNS <= 2048 && ROWS <= 32 ? 2 : 1;  // blocks whose registers a multiprocessor has
constexpr int LOW = 16;                       // weight rows of a warp
constexpr int TALL = LOW * WARPS;             // of a block
constexpr int WIDE = TALL / (1 + GATED);      // columns of y that come of them
constexpr int PITCH = COLUMNS + 8;            // 16 bytes more: the 8 rows of an ldmatrix lie in different banks
constexpr int TILES = ROWS / 8;               // of 8 rows of x
constexpr int UNITS = WARPS * TILES;          // of sums: 512 bytes each
constexpr int EACH = (UNITS + SPLITS - 1) / SPLITS;  // units that a block of the cluster adds up and stores

typedef ELEMENT Slot[LOW][PITCH];
typedef float4 Unit[32];

struct Memory {
    Slot slots[WARPS][DEPTH];
    Unit inbox[SPLITS][EACH];  // by sender: sums may come while weights are still multiplied
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// -- copies -----------------------------------------------------------------------------------------------------------
typedef unsigned long long Barrier;

__device__ __forceinline__ void init(Barrier* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(barrier)), "r"(arrivals) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void expect(Barrier* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(barrier)), "r"(bytes)
                 : "memory");
}

// For what copies of the async proxy bring; of stores by other blocks the scope is "cluster".
#define WAIT(scope) \
    asm volatile( \
        "{ .reg .pred p; mbarrier.try_wait.parity" scope ".shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \
        : "=r"(done) : "r"(address(barrier)), "r"(parity) : "memory")

template <bool CLUSTER_WIDE = false> __device__ __forceinline__ void wait(Barrier* barrier, int parity)
{
    unsigned int done;
    do {
        if (CLUSTER_WIDE)
            WAIT(".acquire.cluster");
        else
            WAIT("");
    } while (!done);
    __syncwarp();  // the tensor cores want all lanes at once
}

// Weights leave L2 first: they are read once, and would push out what the next kernels want.
__device__ __forceinline__ void copy(ELEMENT* to, const ELEMENT* from, int bytes, Barrier* barrier)
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
        ::"r"(address(to)), "l"(from), "r"(bytes), "r"(address(barrier)), "l"(policy) : "memory");
}

// A row of x to the same place in all blocks of `mask`; their barriers count its bytes.
__device__ __forceinline__ void multicast(ELEMENT* to, const ELEMENT* from, int bytes, Barrier* barrier, int mask)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
        ::"r"(address(to)), "l"(from), "r"(bytes), "r"(address(barrier)), "h"((short)mask) : "memory");
}

// `columns` of COLUMNS columns of rows of x, every so many rows by a fetcher, 16 bytes of each lane: cheaper to ask for
// than bulk copies, for which one lane comes after the other.
__device__ __forceinline__ void fetch(ELEMENT* to, const ELEMENT* x, int pitch, int K, int rows, int columns)
{
    constexpr int LANES = COLUMNS > 128 ? 32 : COLUMNS > 64 ? 16 : 8;  // of a row
    constexpr int AT_ONCE = FETCHERS * 32 / LANES;                     // rows
    const int thread = threadIdx.x - 32 * WARPS, first = thread / LANES, k = thread % LANES * 8;
    const ELEMENT* from = x + (size_t)first * K + k;
    unsigned int there = address(to + first * pitch + k);
#pragma unroll 8
    for (int m = first; m < rows; m += AT_ONCE) {
#pragma unroll
        for (int more = 0; more < COLUMNS; more += LANES * 8)
            if (k + more < columns)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                             ::"r"(there + 2 * more), "l"(from + more) : "memory");
        from += AT_ONCE * K, there += AT_ONCE * 2 * pitch;  // nothing to multiply between two copies
    }
}

// Each lane arrives when what it has asked for is there.
__device__ __forceinline__ void arrive_behind_copies(Barrier* barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(address(barrier)) : "memory");
}

// -- products ---------------------------------------------------------------------------------------------------------
__device__ __forceinline__ void ldmatrix(unsigned int (&r)[4], const ELEMENT* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}

#define MMA(type) \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
        "{%0, %1, %2, %3};" \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

__device__ __forceinline__ void mma(
    float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1, __half)
{
    MMA("f16");
}

__device__ __forceinline__ void mma(
    float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1, __nv_bfloat16)
{
    MMA("bf16");
}

typedef unsigned int Held[COLUMNS / 16][4];  // a warp's weights of a slot

__device__ __forceinline__ void load(Held& a, const ELEMENT* a_row, int width)
{
#pragma unroll
    for (int i = 0; i < COLUMNS / 16; ++i)
        if (i * 16 < width) ldmatrix(a[i], a_row + i * 16);
}

// All columns of a slot, whose number the compiler knows where WHOLE. AHEAD tiles of x are read before they are needed,
// as many as registers are left for: an ldmatrix takes as long as four mma.
template <bool WHOLE> __device__ __forceinline__ void multiply(
    float (&sum)[TILES][4], const Held& a, const ELEMENT* b_row, int pitch, int width)
{
    constexpr int AHEAD = COLUMNS <= 192 && TILES > 2 ? 4 : TILES > 1 ? 2 : 1;
#pragma unroll
    for (int i = 0; i < COLUMNS / 16; i += 2) {
        if (!WHOLE && i * 16 >= width) break;
#pragma unroll
        for (int first = 0; first < TILES; first += AHEAD) {
            unsigned int b[AHEAD][4];
#pragma unroll
            for (int j = 0; j < AHEAD; ++j) ldmatrix(b[j], b_row + (first + j) * 8 * pitch + i * 16);
#pragma unroll
            for (int j = 0; j < AHEAD; ++j) mma(sum[first + j], a[i], b[j][0], b[j][1], ELEMENT());
#pragma unroll
            for (int j = 0; j < AHEAD; ++j) mma(sum[first + j], a[i + 1], b[j][2], b[j][3], ELEMENT());
        }
    }
}

// -- sums -------------------------------------------------------------------------------------------------------------
__device__ __forceinline__ unsigned int there(const void* shared, int rank)
{
    unsigned int place;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place) : "r"(address(shared)), "r"(rank));
    return place;
}

__device__ __forceinline__ void push(float4* to, const float (&v)[4], Barrier* barrier, int rank)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];"
                 ::"r"(there(to, rank)), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "r"(there(barrier, rank))
                 : "memory");
}

// 8 by 8 results turned round: a lane's two become neighbours along n, of the row of x that is lane / 4.
__device__ __forceinline__ unsigned int turned(float one, float next)
{
    const int lane = threadIdx.x % 32, from = lane % 4 * 8 + lane / 8;
    __align__(4) const ELEMENT both[2] = {ELEMENT(one), ELEMENT(next)};  // of rows lane % 4 * 2 and one more
    const unsigned int mine = *reinterpret_cast<const unsigned int*>(both);
    const unsigned int low = __shfl_sync(~0u, mine, from), high = __shfl_sync(~0u, mine, from + 4);
    return __byte_perm(low, high, lane & 4 ? 0x7632 : 0x5410);
}

// y[n] and y[n + 1] of a row of N columns.
__device__ __forceinline__ void put(ELEMENT* y, unsigned int both, int n, int N)
{
    if (N % 2 == 0) {
        if (n < N) *reinterpret_cast<unsigned int*>(y + n) = both;
    } else {
        const ELEMENT* each = reinterpret_cast<const ELEMENT*>(&both);
        for (int e = 0; e < 2 && n + e < N; ++e) y[n + e] = each[e];
    }
}

__device__ __forceinline__ float gate(float value, float up)
{
    return value / (1.0f + __expf(-value)) * up;
}

// What the sums of 8 rows of x from `m` and of the columns of y from `n` on become.
__device__ __forceinline__ void store(ELEMENT* y, float4 all, const ELEMENT* bias, int m, int n, int M, int N)
{
    const int lane = threadIdx.x % 32, column = n + lane / 4, row = m + lane / 4;
    if (bias) {
        const float low = float(bias[min(column, N - 1)]);
        const float high = float(bias[GATED ? N + min(column, N - 1) : min(column + 8, N - 1)]);
        all = {all.x + low, all.y + low, all.z + high, all.w + high};
    }
    const unsigned int low = GATED ? turned(gate(all.x, all.z), gate(all.y, all.w)) : turned(all.x, all.y);
    const unsigned int high = GATED ? 0 : turned(all.z, all.w);
    if (row >= M) return;
    put(y + (size_t)row * N, low, n + lane % 4 * 2, N);
    if (!GATED) put(y + (size_t)row * N, high, n + 8 + lane % 4 * 2, N);
}

#ifdef TIMES  // cycles of the first block between marks, seven floats in place of y's first elements
#define MARK(place) if (threadIdx.x == 0) marks[place] = clock64();
#else
#define MARK(place)
#endif

extern "C" __global__ void CLUSTER __launch_bounds__(THREADS, BESIDE) skinny_gemm_push(
    const ELEMENT* __restrict__ x, const ELEMENT* __restrict__ weight, const ELEMENT* __restrict__ bias,
    ELEMENT* __restrict__ y, int M, int N, int steps)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#ifdef TIMES
    __shared__ long long marks[8];
#endif
    MARK(0)
    extern __shared__ __align__(128) unsigned char dynamic[];
    __shared__ Barrier full[WARPS][DEPTH], x_full[2], inbox_full;
    Memory& memory = *reinterpret_cast<Memory*>(dynamic);
    ELEMENT* shared_x = reinterpret_cast<ELEMENT*>(dynamic + sizeof(Memory));
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, K = 32 * steps;
    const int rank = blockIdx.x % SPLITS, sibling = blockIdx.x / SPLITS % SHARE;
    const int group = blockIdx.x / SPLITS, first_m = blockIdx.y * ROWS, rows = min(ROWS, M - first_m);
    const int begin = steps * rank / SPLITS * 32, columns = steps * (rank + 1) / SPLITS * 32 - begin;
    const int parts = (columns + COLUMNS - 1) / COLUMNS, x_pitch = (steps + SPLITS - 1) / SPLITS * 32 + 8;
    const int width = N / (1 + GATED), units = min(EACH, UNITS - rank * EACH);

    // Rows that do not exist are the last one again: what comes of them is not stored.
    const int low = min(warp, WARPS - 1) * LOW + lane % LOW;
    const int row = GATED ? min(group * WIDE + low / 16 * 8 + low % 8, width - 1) + low % 16 / 8 * width
                          : min(group * WIDE + low, width - 1);
    const ELEMENT* mine = weight + (size_t)row * K + begin;
    const auto feed = [&](int part) {
        const int bytes = 2 * min(COLUMNS, columns - part * COLUMNS);
        Barrier* barrier = &full[warp][part % DEPTH];
        if (lane == 0) expect(barrier, LOW * bytes);
        if (lane < LOW) copy(memory.slots[warp][part % DEPTH][lane], mine + part * COLUMNS, bytes, barrier);
    };
    const int first = min(COLUMNS, columns), rest = columns - first;
    if (warp < WARPS) {
        if (lane < DEPTH) init(&full[warp][lane], 1);
        __syncwarp();
        for (int part = 0; part < min(DEPTH, parts); ++part) feed(part);
    } else {
        if (warp == WARPS && lane == 0) {
            for (int i = 0; i < 2; ++i) {
                init(&x_full[i], SHARE > 1 ? 1 : 32 * FETCHERS);
                if (SHARE > 1) expect(&x_full[i], rows * 2 * (i ? rest : first));
            }
            init(&inbox_full, 1);
            if (units > 0) expect(&inbox_full, units * SPLITS * (int)sizeof(Unit));
        }
        for (int m = rows + warp - WARPS; m < ROWS; m += FETCHERS)  // no row of x goes there, and tensor cores read it
            for (int k = lane * 8; k < columns; k += 32 * 8)
                *reinterpret_cast<uint4*>(shared_x + m * x_pitch + k) = {};
    }
    MARK(1)
    __syncthreads();
    asm volatile("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait.acquire;" ::: "memory");  // barriers are there

    if (warp >= WARPS) {
        asm volatile("griddepcontrol.wait;" ::: "memory");  // weights are nobody's result, x is
#ifdef TIMES
        if (threadIdx.x == 32 * WARPS) marks[2] = clock64();
#endif
        const ELEMENT* x_rows = x + (size_t)first_m * K + begin;
        if (SHARE == 1) {
            fetch(shared_x, x_rows, x_pitch, K, rows, first);
            arrive_behind_copies(&x_full[0]);
            for (int at = COLUMNS; at < columns; at += COLUMNS)
                fetch(shared_x + at, x_rows + at, x_pitch, K, rows, columns - at);
            arrive_behind_copies(&x_full[1]);
        } else {
            int mask = 0;
            for (int s = 0; s < SHARE; ++s) mask |= 1 << (rank + s * SPLITS);
            for (int i = 0; i < (rest ? 2 : 1); ++i)
                for (int m = (threadIdx.x - 32 * WARPS) * SHARE + sibling; m < rows; m += 32 * FETCHERS * SHARE) {
                    ELEMENT* to = shared_x + m * x_pitch + i * COLUMNS;
                    const ELEMENT* from = x_rows + (size_t)m * K + i * COLUMNS;
                    multicast(to, from, 2 * (i ? rest : first), &x_full[i], mask);
                }
        }
        wait(&x_full[0], 0), wait(&x_full[1], 0);  // nobody leaves while copies to it are on their way
        return;
    }

    Held a;
    float sum[TILES][4] = {};
    for (int part = 0; part < parts; ++part) {
        const int there = min(COLUMNS, columns - part * COLUMNS);
        wait(&full[warp][part % DEPTH], part / DEPTH & 1);
        load(a, memory.slots[warp][part % DEPTH][lane % 16] + lane / 16 * 8, there);
        __syncwarp();  // all lanes have read the slot
        if (part + DEPTH < parts) feed(part + DEPTH);
        if (part < 2) wait(&x_full[part], 0);
        if (part == 0) { MARK(3) }
        const ELEMENT* b_row = shared_x + lane % 8 * x_pitch + part * COLUMNS + lane / 8 * 8;
        if (there == COLUMNS)
            multiply<true>(sum, a, b_row, x_pitch, there);
        else
            multiply<false>(sum, a, b_row, x_pitch, there);
    }
    MARK(5)
#pragma unroll
    for (int j = 0; j < TILES; ++j) {
        const int unit = warp * TILES + j, owner = unit / EACH;
        push(&memory.inbox[rank][unit % EACH][lane], sum[j], &inbox_full, owner + sibling * SPLITS);
    }
    if (units <= 0) return;
    wait<true>(&inbox_full, 0);
    MARK(6)
    for (int i = warp; i < units; i += WARPS) {
        const int unit = rank * EACH + i, m = first_m + unit % TILES * 8;
        if (m >= M) continue;
        float4 all = {};
#pragma unroll
        for (int sender = 0; sender < SPLITS; ++sender) {  // in the order of their ranks: the same bits each time
            const float4 v = memory.inbox[sender][i][lane];
            all = {all.x + v.x, all.y + v.y, all.z + v.z, all.w + v.w};
        }
        store(y, all, bias, m, group * WIDE + unit / TILES * (LOW / (1 + GATED)), M, width);
    }
    MARK(7)
#ifdef TIMES
    __syncwarp();
    if (threadIdx.x == 0 && blockIdx.x == 0) {  // its warp has stored these results itself
        marks[4] = marks[3];                    // weights were there before x
        for (int i = 0; i < 7; ++i) reinterpret_cast<float*>(y)[i] = float(marks[i + 1] - marks[i]);
    }
#endif
}
