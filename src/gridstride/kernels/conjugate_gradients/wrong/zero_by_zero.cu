// Zero by zero: where the guess is the answer already, or one step finds it, the next one divides 0 by 0.
//
// entry: conjugate_gradients_zero_by_zero
// block: 32 8
// grid: min(ceil(W/32)*ceil(H/32), 4*SMS)
// cooperative: yes
// expect: wrong_result

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

// A v at a cell.
__device__ float applied(const float* v, int row, int column, int H, int W, float r)
{
    const float* cell = v + (size_t)row * W + column;
    float around = 0.0f;
    if (row > 0) around += cell[-W];
    if (row < H - 1) around += cell[W];
    if (column > 0) around += cell[-1];
    if (column < W - 1) around += cell[1];
    return (1.0f + 4.0f * r) * cell[0] - r * around;
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
conjugate_gradients_zero_by_zero(const float* b, const float* start, float* x, float* work, int H, int W, float r)
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

    float *g = work, *p = work + cells, *q = work + 2 * cells;
    float sum = 0.0f;
    each([&](int row, int column, size_t i) {
        const float residual = b[i] - applied(start, row, column, H, W, r);
        x[i] = start[i];
        g[i] = p[i] = residual;
        sum += residual * residual;
    });
    float square = grid_sum(sum, of_block[1]);

#pragma unroll 1
    for (int k = 0; k < STEPS; ++k) {
        sum = 0.0f;
        each([&](int row, int column, size_t i) {
            q[i] = applied(p, row, column, H, W, r);
            sum += p[i] * q[i];
        });
        const float curvature = grid_sum(sum, of_block[0]);
        const float a = square / curvature;

        sum = 0.0f;
        each([&](int row, int column, size_t i) {
            x[i] += a * p[i];
            g[i] -= a * q[i];
            sum += g[i] * g[i];
        });
        const float before = square;
        square = grid_sum(sum, of_block[1]);
        const float share = square / before;

        each([&](int row, int column, size_t i) { p[i] = g[i] + share * p[i]; });
        cg::this_grid().sync();
    }
}
