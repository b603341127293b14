// 03 ring: the way between the two steps stays in the L2: scratch is a ring of a few rows, and the second step of a row
//   follows close behind the first, while that of later rows goes on.
//
// Moves: readings and writings of memory, from two of each to one, by the numbers that the L2 holds: a row is 8 MB, and
//   the ring five of them. What is read once and written once is said to be so (.cs), so that it does not drive the
//   ring out. Barriers of the grid, one, but before anything else: counters begin at 0.
// Mapping: a block takes tickets in turn, each a tile of 16 columns or of 16 rows as before. A ticket waits for tickets
//   below it alone, each of which has been taken by a block that is on the GPU: so nobody waits for ever.
//
// entry: fft_long_ring
// block: 512
// grid: min(16*rows, SMS)
// shared: 8*32*32*17
// cooperative: yes

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int AHEAD = 2;  // rows by which the first step is before the second
constexpr int RING = 5;   // rows that scratch holds
constexpr int BLOCKS = 1;  // of a multiprocessor
constexpr int WIDTH = 16;  // columns, or rows, of a tile

constexpr int LENGTH = 1024;  // of one step; a row is that many times as long
constexpr int SIDE = 32;
constexpr int TILES = LENGTH / WIDTH;
constexpr int THREADS = SIDE * WIDTH;
constexpr int PITCH = SIDE * (WIDTH + 1) + (WIDTH == 8 ? 8 : 0);
static_assert(RING > AHEAD, "the first step would wait for a second one that comes behind it");

__device__ __forceinline__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ float2 operator*(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// exp(-2 pi i share)
__device__ __forceinline__ float2 turned(float share)
{
    float sine, cosine;
    sincospif(-2.0f * share, &sine, &cosine);
    return make_float2(cosine, sine);
}

// cos and sin of 2 pi k / 32
constexpr float COSINE[SIDE / 2] = {
    1.000000000f, 0.980785280f, 0.923879533f, 0.831469612f, 0.707106781f, 0.555570233f, 0.382683432f, 0.195090322f,
    0.0f, -0.195090322f, -0.382683432f, -0.555570233f, -0.707106781f, -0.831469612f, -0.923879533f, -0.980785280f};
constexpr float SINE[SIDE / 2] = {
    0.0f, 0.195090322f, 0.382683432f, 0.555570233f, 0.707106781f, 0.831469612f, 0.923879533f, 0.980785280f,
    1.000000000f, 0.980785280f, 0.923879533f, 0.831469612f, 0.707106781f, 0.555570233f, 0.382683432f, 0.195090322f};

__device__ constexpr int reversed(int k)
{
    return (k & 1) << 4 | (k & 2) << 2 | (k & 4) | (k & 8) >> 2 | (k & 16) >> 4;
}

// Transform of the thread's 32 numbers; frequency k lies at reversed(k) behind it.
__device__ __forceinline__ void transform(float2 (&v)[SIDE])
{
#pragma unroll
    for (int half = SIDE / 2; half > 0; half /= 2) {
#pragma unroll
        for (int i = 0; i < SIDE; ++i) {
            if (i & half) continue;
            const int k = i % half * (SIDE / 2 / half);
            const float2 a = v[i], b = v[i + half], d = a - b;
            v[i] = a + b;
            if (k == 0) v[i + half] = d;
            else if (k == SIDE / 4) v[i + half] = make_float2(d.y, -d.x);
            else v[i + half] = d * make_float2(COSINE[k], -SINE[k]);
        }
    }
}

// Frequency k of the 32 is turned by start + k step, shares of a whole turn. A factor is at most ten products away from
// one that was worked out, so that errors stay of the size of those of the sums.
__device__ __forceinline__ void turn(float2 (&v)[SIDE], float start, float step)
{
    const float2 one = turned(step), eight = turned(8.0f * step);
    float2 base = turned(start);
#pragma unroll
    for (int k = 0; k < SIDE; k += 8) {
        float2 factor = base;
#pragma unroll
        for (int i = k; i < k + 8; ++i) {
            v[reversed(i)] = v[reversed(i)] * factor;
            factor = factor * one;
        }
        base = base * eight;
    }
}

// Transforms of length 1,024, `WIDTH` of them: numbers 32 i + j of the transform `from` in, frequencies
// threadIdx.x / WIDTH + 32 k of the transform threadIdx.x % WIDTH out, at reversed(k). `spacing` of neighbouring j
// in shared memory is such that neither writing nor reading has bank conflicts.
__device__ __forceinline__ void transform_tile(float2 (&v)[SIDE], int from, int j, int spacing, float2* exchange)
{
    transform(v);
    turn(v, 0.0f, (float)j / LENGTH);
    __syncthreads();  // all have read what the tile before left
#pragma unroll
    for (int k = 0; k < SIDE; ++k) exchange[k * PITCH + j * spacing + from] = v[reversed(k)];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < SIDE; ++i)
        v[i] = exchange[threadIdx.x / WIDTH * PITCH + i * spacing + threadIdx.x % WIDTH];
    transform(v);
}

__device__ __forceinline__ unsigned int look_at(const unsigned int* place)
{
    unsigned int value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(place) : "memory");
    return value;
}

// Until all tiles of a row have been counted; what their blocks wrote before is seen behind it.
__device__ __forceinline__ void wait_for(const unsigned int* count)
{
    if (threadIdx.x == 0) {
        while (look_at(count) < TILES) __nanosleep(64);
        __threadfence();
    }
    __syncthreads();
}

// One tile more, behind what all threads wrote of it.
__device__ __forceinline__ void count_tile(unsigned int* count)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1u);
    }
}

struct Tile {
    int number;  // of all of its step
    bool second;  // step
};

// The first step of `AHEAD` rows, then of one more and the second step of the first of them, and so on row by row; in
// the end the second step of as many rows. Between what is waited for and who waits lies at least a row of tickets.
__device__ __forceinline__ Tile tile_of(int ticket, int tiles)
{
    const int lead = min(AHEAD * TILES, tiles), both = ticket - lead;
    if (both < 0) return {ticket, false};
    if (both >= 2 * (tiles - lead)) return {ticket - tiles, true};
    const bool second = both / TILES % 2 == 1;
    return {both / (2 * TILES) * TILES + both % TILES + (second ? 0 : lead), second};
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
fft_long_ring(const float* x, float* X, float* scratch, unsigned int* counters, int rows)
{
    extern __shared__ float2 exchange[];
    __shared__ int next;
    const int t = threadIdx.x, lower = t % WIDTH, upper = t / WIDTH;
    const int tiles = rows * TILES;
    unsigned int *tickets = counters, *columns_done = counters + 1, *rows_done = columns_done + rows;

    for (int i = blockIdx.x * THREADS + t; i <= 2 * rows; i += gridDim.x * THREADS) counters[i] = 0;
    cg::this_grid().sync();

    if (t == 0) next = atomicAdd(tickets, 1u);
    __syncthreads();
    for (int ticket = next; ticket < 2 * tiles;) {
        const Tile tile = tile_of(ticket, tiles);
        const int row = tile.number / TILES, first = tile.number % TILES * WIDTH;
        float2* square = reinterpret_cast<float2*>(scratch) + (size_t)(row % RING) * LENGTH * LENGTH;
        float2 v[SIDE];
        const int taken = t == 0 ? atomicAdd(tickets, 1u) : 0;

        // Columns: frequency k1 of column n2 is left at [k1][n2], turned by k1 n2 / 1048576.
        if (!tile.second) {
            const int column = first + lower;
            const float2* from = reinterpret_cast<const float2*>(x) + (size_t)row * LENGTH * LENGTH + column;
#pragma unroll
            for (int i = 0; i < SIDE; ++i) v[i] = __ldcs(from + (SIDE * i + upper) * LENGTH);
            transform_tile(v, lower, upper, WIDTH, exchange);
            turn(v, (float)(column * upper) / (LENGTH * LENGTH), (float)column / (LENGTH * SIDE));
            if (row >= RING) wait_for(rows_done + row - RING);
#pragma unroll
            for (int k = 0; k < SIDE; ++k) __stcg(square + (upper + SIDE * k) * LENGTH + column, v[reversed(k)]);
            if (t == 0) next = taken;  // all have read the one before: there were barriers since
            count_tile(columns_done + row);
        }

        // Rows: frequency k2 of row k1 is frequency k1 + 1,024 k2 of all.
        else {
            const int line = t / SIDE, j = t % SIDE;
            float2* to = reinterpret_cast<float2*>(X) + (size_t)row * LENGTH * LENGTH + first + lower;
            wait_for(columns_done + row);
#pragma unroll
            for (int i = 0; i < SIDE; ++i) v[i] = __ldcg(square + (first + line) * LENGTH + SIDE * i + j);
            transform_tile(v, line, j, WIDTH + 1, exchange);
#pragma unroll
            for (int k = 0; k < SIDE; ++k) __stcs(to + (upper + SIDE * k) * LENGTH, v[reversed(k)]);
            if (t == 0) next = taken;
            count_tile(rows_done + row);
        }
        ticket = next;
    }
}
