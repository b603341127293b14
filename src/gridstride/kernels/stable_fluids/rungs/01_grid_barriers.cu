// 01 grid barriers: the method as it is written; all blocks wait for each other behind each of its steps.
//
// Moves: nothing yet. Five barriers of the grid, and every field goes through memory between two of them.
// Mapping: a block of 32x8 threads -> tiles of 32x32 cells, gridDim.x tiles apart; a thread has four cells of each,
//   in a column.
//
// entry: stable_fluids_grid_barriers
// block: 32 8
// grid: min(ceil(W/32)*ceil(H/32), 4*SMS)
// cooperative: yes

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int STEPS = 4;
constexpr int SIDE = 32;  // cells of a tile, both ways

__device__ __forceinline__ int wrapped(int i, int n)
{
    i %= n;
    return i < 0 ? i + n : i;
}

// The field at a point, `across` and `down` before (x, y).
__device__ float carried(const float* field, int x, int y, float across, float down, int H, int W)
{
    const float left = floorf(-across), top = floorf(-down);
    const float share_x = -across - left, share_y = -down - top;
    const int column = wrapped(x + (int)left, W), row = wrapped(y + (int)top, H);
    const int right = wrapped(column + 1, W), below = wrapped(row + 1, H);
    const float* upper = field + (size_t)row * W;
    const float* lower = field + (size_t)below * W;
    const float above = upper[column] + share_x * (upper[right] - upper[column]);
    const float under = lower[column] + share_x * (lower[right] - lower[column]);
    return above + share_y * (under - above);
}

extern "C" __global__ void __launch_bounds__(256, 4)
stable_fluids_grid_barriers(const float* velocity, const float* pressure, float* velocity_after, float* pressure_after,
                            float* work, int H, int W, float dt)
{
    const size_t cells = (size_t)H * W;
    const int across = (W + SIDE - 1) / SIDE, tiles = across * ((H + SIDE - 1) / SIDE);
    const float *u = velocity, *v = velocity + cells;
    float *moved_u = work, *moved_v = work + cells, *b = work + 2 * cells;

    // For each cell of the thread: its column, row and number, and the columns and rows beside it.
    const auto each = [&](auto act) {
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int first = tile / across * SIDE, x = tile % across * SIDE + threadIdx.x;
            if (x >= W) continue;
#pragma unroll 1
            for (int y = first + threadIdx.y; y < min(first + SIDE, H); y += 8) {
                act(x, y, (size_t)y * W + x, x == 0 ? W - 1 : x - 1, x == W - 1 ? 0 : x + 1, y == 0 ? H - 1 : y - 1,
                    y == H - 1 ? 0 : y + 1);
            }
        }
    };

    each([&](int x, int y, size_t i, int left, int right, int above, int below) {
        const size_t upper = (size_t)above * W, row = (size_t)y * W, lower = (size_t)below * W;
        const float v_mean = 0.25f * (v[row + x] + v[row + left] + v[lower + x] + v[lower + left]);
        const float u_mean = 0.25f * (u[row + x] + u[upper + x] + u[row + right] + u[upper + right]);
        moved_u[i] = carried(u, x, y, dt * u[i], dt * v_mean, H, W);
        moved_v[i] = carried(v, x, y, dt * u_mean, dt * v[i], H, W);
    });
    cg::this_grid().sync();
    const float* from = pressure;
    for (int k = 0; k < STEPS; ++k) {
        float* to = k == STEPS - 1 ? pressure_after : work + (3 + k % 2) * cells;
        each([&](int x, int y, size_t i, int left, int right, int above, int below) {
            const size_t upper = (size_t)above * W, row = (size_t)y * W, lower = (size_t)below * W;
            if (k == 0) b[i] = moved_u[row + right] - moved_u[i] + moved_v[lower + x] - moved_v[i];
            const float around = from[row + left] + from[row + right] + from[upper + x] + from[lower + x];
            to[i] = from[i] + 0.2f * (around - 4.0f * from[i] - b[i]);
        });
        cg::this_grid().sync();
        from = to;
    }
    each([&](int x, int y, size_t i, int left, int right, int above, int below) {
        const float p = pressure_after[i];
        velocity_after[i] = moved_u[i] - (p - pressure_after[(size_t)y * W + left]);
        velocity_after[cells + i] = moved_v[i] - (p - pressure_after[(size_t)above * W + x]);
    });
}
