// 04 walking rows: a warp walks down a strip and works out the residual of a cell once, not five times.
//
// Moves: requests, from 22 a cell and step to 10.4: neighbours above and below are in the thread's own registers, those
//   to the left and right come by shuffle. Barriers stay 5 of the grid.
// Mapping: lane l of a warp -> column l of 32, of which the middle 30 are its own, in 32 rows. The strips of the grid's
//   warps are 8 gridDim.x apart.
//
// entry: conjugate_gradients_walking_rows
// block: 32 8
// grid: min(ceil(ceil(W/30)*ceil(H/32)/8), 4*SMS)
// cooperative: yes

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int STEPS = 4;
constexpr int WARPS = 8;
constexpr int COLUMNS = 30, ROWS = 32;  // of a strip
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

// The length of a step. No eigenvalue of A is below 1, so it is at most 1; rounding must not make it longer.
__device__ float length(float square, float curvature)
{
    return square > 0.0f ? square / fmaxf(curvature, square) : 0.0f;
}

// Of a strip: the lane's column, whether it is in the field, whether it is the warp's own, and rows from first on.
struct Strip {
    int column, first, last;
    bool in_field, own;
};

// A v for each cell of the lane, of a v that is known by row: act(row, v, A v).
template <typename Of, typename Act>
__device__ __forceinline__ void walk(const Strip& strip, int H, float r, Of of, Act act)
{
    const auto value = [&](int row) { return strip.in_field && row >= 0 && row < H ? of(row) : 0.0f; };
    float above = value(strip.first - 1), cell = value(strip.first);
#pragma unroll 1
    for (int row = strip.first; row < strip.last; ++row) {
        const float below = value(row + 1);
        const float beside = __shfl_up_sync(ALL, cell, 1) + __shfl_down_sync(ALL, cell, 1);
        if (strip.own) act(row, cell, (1.0f + 4.0f * r) * cell - r * (above + below + beside));
        above = cell;
        cell = below;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
conjugate_gradients_walking_rows(const float* b, const float* start, float* x, float* work, int H, int W, float r)
{
    const size_t cells = (size_t)H * W;
    const int across = (W + COLUMNS - 1) / COLUMNS, strips = across * ((H + ROWS - 1) / ROWS);
    const int lane = threadIdx.x;

    const auto each = [&](auto act) {
        for (int n = blockIdx.x * WARPS + threadIdx.y; n < strips; n += gridDim.x * WARPS) {
            const int column = n % across * COLUMNS + lane - 1, first = n / across * ROWS;
            const bool in_field = column >= 0 && column < W;
            act(Strip{column, first, min(first + ROWS, H), in_field, in_field && lane > 0 && lane < 31});
        }
    };

    float *g = work, *s = work + cells, *w = work + 2 * cells, *p = work + 3 * cells;
    float *next_g = work + 4 * cells, *next_s = work + 5 * cells, *next_w = work + 6 * cells;
    each([&](const Strip& strip) {
        const auto at = [&](int row) { return (size_t)row * W + strip.column; };
        walk(strip, H, r, [&](int row) { return start[at(row)]; }, [&](int row, float guess, float applied) {
            const size_t i = at(row);
            g[i] = b[i] - applied;
            x[i] = guess;
            p[i] = s[i] = 0.0f;
        });
    });
    cg::this_grid().sync();

    float2 sums = make_float2(0.0f, 0.0f);  // g·g and g·w
    each([&](const Strip& strip) {
        const auto at = [&](int row) { return (size_t)row * W + strip.column; };
        walk(strip, H, r, [&](int row) { return g[at(row)]; }, [&](int row, float own, float applied) {
            w[at(row)] = applied;
            sums.x += own * own;
            sums.y += own * applied;
        });
    });
    sums = grid_sum(sums, of_block[1]);

    float share = 0.0f, a = length(sums.x, sums.y);
#pragma unroll 1
    for (int k = 0; k < STEPS - 1; ++k) {
        const float square = sums.x;
        sums = make_float2(0.0f, 0.0f);
        each([&](const Strip& strip) {
            const auto at = [&](int row) { return (size_t)row * W + strip.column; };
            float old = 0.0f, new_s = 0.0f, below_old = 0.0f, below_s = 0.0f;  // of the cell, and of the one below
            const auto residual = [&](int row) {
                const size_t i = at(row);
                old = below_old, new_s = below_s;
                below_old = g[i];
                below_s = w[i] + share * s[i];
                return below_old - a * below_s;
            };
            walk(strip, H, r, residual, [&](int row, float own, float applied) {
                const size_t i = at(row);
                const bool last = row == H - 1;  // nothing was loaded below it
                const float direction = (last ? below_old : old) + share * p[i];
                p[i] = direction;
                x[i] += a * direction;
                next_s[i] = last ? below_s : new_s;
                next_g[i] = own;
                next_w[i] = applied;
                sums.x += own * own;
                sums.y += own * applied;
            });
        });
        sums = grid_sum(sums, of_block[k & 1]);
        share = square > 0.0f ? sums.x / square : 0.0f;
        a = length(sums.x, sums.y - (a > 0.0f ? share * sums.x / a : 0.0f));

        float *const old_g = g, *const old_s = s, *const old_w = w;  // which neighbours may have read till now
        g = next_g, s = next_s, w = next_w;
        next_g = old_g, next_s = old_s, next_w = old_w;
    }
    each([&](const Strip& strip) {
        if (!strip.own) return;
        for (int row = strip.first; row < strip.last; ++row) {
            const size_t i = (size_t)row * W + strip.column;
            x[i] += a * (g[i] + share * p[i]);
        }
    });
}
