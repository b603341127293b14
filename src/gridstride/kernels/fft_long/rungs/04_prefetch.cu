// 04 prefetch: the next tile is on its way to shared memory while the present one is transformed, and two blocks share
//   a multiprocessor.
//
// Moves: waiting for memory: a block of half the width, 8 columns, needs half of the registers and of shared memory,
//   and the next tile is fetched as soon as the exchange has been read. Two numbers come with each request of a lane
//   (16 bytes). Instructions: the factors within a tile are read from a table instead of worked out.
// Mapping: tickets as before. A ticket is taken two tiles ahead, and fetched one ahead where all that it reads has been
//   counted: a block never waits for what comes behind a tile that it has not finished.
//
// entry: fft_long_prefetch
// block: 256
// grid: min(16*rows, 2*SMS)
// shared: 8*32*(32*8+8)+8*1024
// cooperative: yes

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int AHEAD = 2;  // rows by which the first step is before the second
constexpr int RING = 4;   // rows that scratch holds
constexpr int BLOCKS = 2;  // of a multiprocessor
constexpr int WIDTH = 8;  // columns, or rows, of a tile

constexpr int LENGTH = 1024;  // of one step; a row is that many times as long
constexpr int SIDE = 32;
constexpr int TILES = LENGTH / WIDTH;
constexpr int THREADS = SIDE * WIDTH;
constexpr int PITCH = SIDE * WIDTH + WIDTH % 16;  // of the exchange: two of its rows lie in all banks
constexpr int PIECES = LENGTH * WIDTH / 2 / THREADS;  // of 16 bytes, that a thread fetches of a tile
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

// What other blocks wrote before they counted is seen behind it.
__device__ __forceinline__ unsigned int count_of(const unsigned int* place)
{
    unsigned int value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(place) : "memory");
    return value;
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
    int row, first;  // column or row of the square
    bool second;     // step
};

// The first step of `AHEAD` rows, then of one more and the second step of the first of them, and so on row by row; in
// the end the second step of as many rows. What a tile waits for lies two rows of tickets before it, so that it is
// there when the tile is to be fetched.
__device__ __forceinline__ Tile tile_of(int ticket, int rows)
{
    const int tiles = rows * TILES, lead = min(AHEAD * TILES, tiles), both = ticket - lead;
    int number = ticket;
    bool second = false;
    if (both >= 2 * (tiles - lead)) {
        number = ticket - tiles;
        second = true;
    } else if (both >= 0) {
        second = both / TILES % 2 == 1;
        number = both / (2 * TILES) * TILES + both % TILES + (second ? 0 : lead);
    }
    return {number / TILES, number % TILES * WIDTH, second};
}

__device__ __forceinline__ float2* square_of(float* scratch, int row)
{
    return reinterpret_cast<float2*>(scratch) + (size_t)(row % RING) * LENGTH * LENGTH;
}

// Where number j of transform `number` stands in a row of the exchange: so that 16 lanes meet no bank twice, whether they
// have neighbouring numbers of one transform, or neighbouring transforms.
__device__ __forceinline__ int swizzled(int j, int number)
{
    return j * WIDTH + (number ^ j / (16 / WIDTH) % WIDTH);
}

// The 32 numbers that thread t begins with come to be `THREADS` apart, from t on. Of a tile of columns they lie so in
// memory, [n1][column]; a tile of rows, [row][n2], is one piece of memory.
__device__ __forceinline__ void fetch(const Tile& tile, const float* x, float* scratch, float2* staged)
{
    if (!tile.second) {
        const unsigned int to = (unsigned int)__cvta_generic_to_shared(staged) + 16 * threadIdx.x;
        const int n = 2 * threadIdx.x;
        const float2* from = reinterpret_cast<const float2*>(x) + (size_t)tile.row * LENGTH * LENGTH + tile.first
                             + n / WIDTH * LENGTH + n % WIDTH;
        unsigned long long once;  // what is read once need not stay in the L2
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(once));
#pragma unroll
        for (int i = 0; i < PIECES; ++i)
            asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to + 16 * THREADS * i),
                         "l"(from + 2 * THREADS / WIDTH * LENGTH * i), "l"(once) : "memory");
    } else {
        constexpr int STEP = 2 * THREADS;  // numbers
        const int n = 2 * threadIdx.x;
        const float2* from = square_of(scratch, tile.row) + tile.first * LENGTH + n;
        const unsigned int place = (unsigned int)__cvta_generic_to_shared(staged + n / SIDE * THREADS + n % SIDE);
#pragma unroll
        for (int i = 0; i < PIECES; ++i) {
            const int row = STEP * i / LENGTH, rest = STEP * i % LENGTH;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place + 8 * (rest * WIDTH + row * SIDE)),
                         "l"(from + STEP * i) : "memory");
        }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
fft_long_prefetch(const float* x, float* X, float* scratch, unsigned int* counters, int rows)
{
    extern __shared__ float4 memory[];
    __shared__ int next_ticket;
    __shared__ bool next_ready;
    float2* values = reinterpret_cast<float2*>(memory);  // as they were fetched, and then in exchange
    float2* factors = values + SIDE * PITCH;             // [k][j]
    const int t = threadIdx.x, lower = t % WIDTH, upper = t / WIDTH, last = 2 * rows * TILES;
    unsigned int *tickets = counters, *columns_done = counters + 1, *rows_done = columns_done + rows;

    for (int i = blockIdx.x * THREADS + t; i <= 2 * rows; i += gridDim.x * THREADS) counters[i] = 0;
    for (int i = t; i < LENGTH; i += THREADS) factors[i] = turned((float)(i / SIDE * (i % SIDE)) / LENGTH);
    cg::this_grid().sync();

    int taken = 0;  // by thread 0: the ticket after this one
    if (t == 0) {
        next_ticket = atomicAdd(tickets, 1u);
        taken = atomicAdd(tickets, 1u);
    }
    __syncthreads();
    int ticket = next_ticket;
    for (bool ready = false; ticket < last;) {
        const Tile tile = tile_of(ticket, rows);
        float2* square = square_of(scratch, tile.row);
        if (!ready) {
            if (tile.second && t == 0)
                while (count_of(columns_done + tile.row) < TILES) __nanosleep(64);
            __syncthreads();
            fetch(tile, x, scratch, values);
        }
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();

        const int from = tile.second ? t / SIDE : lower, j = tile.second ? t % SIDE : upper;
        float2 v[SIDE];
#pragma unroll
        for (int i = 0; i < SIDE; ++i) v[i] = values[THREADS * i + t];
        if (t == 0) {
            const Tile next = tile_of(taken, rows);
            next_ticket = taken;
            next_ready = taken < last && (!next.second || count_of(columns_done + next.row) >= TILES);
        }
        transform(v);
#pragma unroll
        for (int k = 1; k < SIDE; ++k) v[reversed(k)] = v[reversed(k)] * factors[k * SIDE + j];
        __syncthreads();  // all have read what was fetched
#pragma unroll
        for (int k = 0; k < SIDE; ++k) values[k * PITCH + swizzled(j, from)] = v[reversed(k)];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < SIDE; ++i) v[i] = values[upper * PITCH + swizzled(i, lower)];
        ticket = next_ticket;
        ready = next_ready;
        __syncthreads();
        if (ready) fetch(tile_of(ticket, rows), x, scratch, values);
        if (t == 0) taken = atomicAdd(tickets, 1u);
        transform(v);

        // Columns: frequency k1 of column n2 is left at [k1][n2], turned by k1 n2 / 1048576.
        if (!tile.second) {
            const int column = tile.first + lower;
            turn(v, (float)(column * upper) / (LENGTH * LENGTH), (float)column / (LENGTH * SIDE));
            if (tile.row >= RING) {
                if (t == 0)
                    while (count_of(rows_done + tile.row - RING) < TILES) __nanosleep(64);
                __syncthreads();
            }
#pragma unroll
            for (int k = 0; k < SIDE; ++k) __stcg(square + (upper + SIDE * k) * LENGTH + column, v[reversed(k)]);
        }

        // Rows: frequency k2 of row k1 is frequency k1 + 1,024 k2 of all.
        else {
            float2* to = reinterpret_cast<float2*>(X) + (size_t)tile.row * LENGTH * LENGTH + tile.first + lower;
#pragma unroll
            for (int k = 0; k < SIDE; ++k) __stcs(to + (upper + SIDE * k) * LENGTH, v[reversed(k)]);
        }
        count_tile((tile.second ? rows_done : columns_done) + tile.row);
    }
}
