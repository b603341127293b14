// 03 one barrier: both sums of a step at once, by a recurrence for p·A p (Chronopoulos and Gear, 1989).
//
// With w = A g and s = A p, s is w + share s, and p·A p is g·w - share g·g / a of the step before. A thread works out
// the new residual around its cell as well, so that w needs no barrier of its own.
//
// Moves: barriers, from 9 of the grid to 5. Words through memory stay 10 a cell and step; loads grow from 14 to 17.
// Mapping: a block of 32x8 threads -> tiles of 32x32 cells, gridDim.x tiles apart; a thread has four cells of each,
//   in a column.
//
// entry: conjugate_gradients_one_barrier
// block: 32 8
// grid: min(ceil(W/32)*ceil(H/32), 4*SMS)
// cooperative: yes

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int STEPS = 4;
constexpr int WARPS = 8;
constexpr int SIDE = 32;  // cells of a tile, both ways
constexpr int THREADS = 32 * WARPS;
constexpr int MOST = 1024;  // blocks: four for each multiprocessor of any chip
constexpr unsigned int ALL = 0xffffffff;

__device__ float2 of_block[2][MOST];

// The sums of v over the block, in every thread.
__device__ float2 block_sum(float2 v)
{
    __shared__ float2 of_warp[WARPS];

    for (int far = 16; far > 0; far /= 2) {
        v.x += __shfl_xor_sync(ALL, v.x, far);
        v.y += __shfl_xor_sync(ALL, v.y, far);
    }
    __syncthreads();  // nobody reads the sums of a call before
    if (threadIdx.x == 0) of_warp[threadIdx.y] = v;
    __syncthreads();
    v = make_float2(0.0f, 0.0f);
    for (int warp = 0; warp < WARPS; ++warp) {
        v.x += of_warp[warp].x;
        v.y += of_warp[warp].y;
    }
    return v;
}

// The sums of v over the grid, in every thread; what was written before is seen behind it.
__device__ __noinline__ float2 grid_sum(float2 v, float2* sums)
{
    v = block_sum(v);
    const int thread = threadIdx.y * 32 + threadIdx.x;
    if (thread == 0) sums[blockIdx.x] = v;
    cg::this_grid().sync();
    v = make_float2(0.0f, 0.0f);
    for (int k = thread; k < gridDim.x; k += THREADS) {
        v.x += sums[k].x;
        v.y += sums[k].y;
    }
    return block_sum(v);
}

// A v at a cell, of a v that is known by offset: of(0) is the cell, of(W) the one below.
template <typename Of>
__device__ float applied(Of of, int row, int column, int H, int W, float r)
{
    float around = 0.0f;
    if (row > 0) around += of(-W);
    if (row < H - 1) around += of(W);
    if (column > 0) around += of(-1);
    if (column < W - 1) around += of(1);
    return (1.0f + 4.0f * r) * of(0) - r * around;
}

// The length of a step. No eigenvalue of A is below 1, so it is at most 1; rounding must not make it longer.
__device__ float length(float square, float curvature)
{
    return square > 0.0f ? square / fmaxf(curvature, square) : 0.0f;
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
conjugate_gradients_one_barrier(const float* b, const float* start, float* x, float* work, int H, int W, float r)
{
    const size_t cells = (size_t)H * W;
    const int across = (W + SIDE - 1) / SIDE, tiles = across * ((H + SIDE - 1) / SIDE);

    // For each cell of the thread: its row, its column and its number.
    const auto each = [&](auto act) {
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int first = tile / across * SIDE, column = tile % across * SIDE + threadIdx.x;
            if (column >= W) continue;
#pragma unroll 1
            for (int row = first + threadIdx.y; row < min(first + SIDE, H); row += WARPS) {
                act(row, column, (size_t)row * W + column);
            }
        }
    };

    float *g = work, *s = work + cells, *w = work + 2 * cells, *p = work + 3 * cells;
    float *next_g = work + 4 * cells, *next_s = work + 5 * cells, *next_w = work + 6 * cells;
    each([&](int row, int column, size_t i) {
        const auto guess = [&](int offset) { return start[i + offset]; };
        g[i] = b[i] - applied(guess, row, column, H, W, r);
        x[i] = start[i];
        p[i] = s[i] = 0.0f;
    });
    cg::this_grid().sync();

    float2 sums = make_float2(0.0f, 0.0f);  // g·g and g·w
    each([&](int row, int column, size_t i) {
        w[i] = applied([&](int offset) { return g[i + offset]; }, row, column, H, W, r);
        sums.x += g[i] * g[i];
        sums.y += g[i] * w[i];
    });
    sums = grid_sum(sums, of_block[1]);

    float share = 0.0f, a = length(sums.x, sums.y);
#pragma unroll 1
    for (int k = 0; k < STEPS - 1; ++k) {
        const float square = sums.x;
        sums = make_float2(0.0f, 0.0f);
        each([&](int row, int column, size_t i) {
            const auto residual = [&](int offset) {
                const size_t j = i + offset;
                return g[j] - a * (w[j] + share * s[j]);
            };
            const float direction = g[i] + share * p[i], own = residual(0);
            const float own_w = applied(residual, row, column, H, W, r);
            p[i] = direction;
            x[i] += a * direction;
            next_s[i] = w[i] + share * s[i];
            next_g[i] = own;
            next_w[i] = own_w;
            sums.x += own * own;
            sums.y += own * own_w;
        });
        sums = grid_sum(sums, of_block[k & 1]);
        share = square > 0.0f ? sums.x / square : 0.0f;
        a = length(sums.x, sums.y - (a > 0.0f ? share * sums.x / a : 0.0f));

        float *const old_g = g, *const old_s = s, *const old_w = w;  // which neighbours may still have read till now
        g = next_g, s = next_s, w = next_w;
        next_g = old_g, next_s = old_s, next_w = old_w;
    }
    each([&](int row, int column, size_t i) { x[i] += a * (g[i] + share * p[i]); });
}
