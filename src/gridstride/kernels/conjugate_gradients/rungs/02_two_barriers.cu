// 02 two barriers: a thread works out the new direction of the four cells around its own, too, and waits for nobody's.
//
// Moves: barriers, from 13 of the grid to 9, and words through memory from 12 a cell and step to 10. Loads
//   grow from 11 to 14, of which the neighbours' are in the caches.
// Mapping: a block of 32x8 threads -> tiles of 32x32 cells, gridDim.x tiles apart; a thread has four cells of each,
//   in a column.
//
// entry: conjugate_gradients_two_barriers
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

__device__ float of_block[2][MOST];

// The sum of v over the block, in every thread.
__device__ float block_sum(float v)
{
    __shared__ float of_warp[WARPS];

    for (int far = 16; far > 0; far /= 2) v += __shfl_xor_sync(ALL, v, far);
    __syncthreads();  // nobody reads the sums of a call before
    if (threadIdx.x == 0) of_warp[threadIdx.y] = v;
    __syncthreads();
    v = 0.0f;
    for (int warp = 0; warp < WARPS; ++warp) v += of_warp[warp];
    return v;
}

// The sum of v over the grid, in every thread; what was written before is seen behind it.
__device__ __noinline__ float grid_sum(float v, float* sums)
{
    v = block_sum(v);
    const int thread = threadIdx.y * 32 + threadIdx.x;
    if (thread == 0) sums[blockIdx.x] = v;
    cg::this_grid().sync();
    v = 0.0f;
    for (int k = thread; k < gridDim.x; k += THREADS) v += sums[k];
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

extern "C" __global__ void __launch_bounds__(THREADS, 4)
conjugate_gradients_two_barriers(const float* b, const float* start, float* x, float* work, int H, int W, float r)
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

    float *g = work, *p = work + cells, *next = work + 2 * cells, *q = work + 3 * cells;
    float sum = 0.0f;
    each([&](int row, int column, size_t i) {
        const auto guess = [&](int offset) { return start[i + offset]; };
        const float residual = b[i] - applied(guess, row, column, H, W, r);
        x[i] = start[i];
        g[i] = residual;
        p[i] = 0.0f;
        sum += residual * residual;
    });
    float square = grid_sum(sum, of_block[1]), share = 0.0f;

#pragma unroll 1
    for (int k = 0; k < STEPS; ++k) {
        sum = 0.0f;
        each([&](int row, int column, size_t i) {
            const auto direction = [&](int offset) { return g[i + offset] + share * p[i + offset]; };
            next[i] = direction(0);
            q[i] = applied(direction, row, column, H, W, r);
            sum += next[i] * q[i];
        });
        float* const old = p;
        p = next;
        next = old;  // which neighbours may still read
        const float curvature = grid_sum(sum, of_block[0]);
        const float a = curvature > 0.0f ? square / curvature : 0.0f;

        sum = 0.0f;
        each([&](int row, int column, size_t i) {
            x[i] += a * p[i];
            g[i] -= a * q[i];
            sum += g[i] * g[i];
        });
        const float before = square;
        square = grid_sum(sum, of_block[1]);
        share = before > 0.0f ? square / before : 0.0f;
    }
}
