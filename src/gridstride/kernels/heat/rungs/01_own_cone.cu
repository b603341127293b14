// 01 own cone: a thread loads all that its result depends on, the 9 by 9 cells around it, and takes the steps alone.
//
// Moves: nothing yet. 81 loads and 7 * 7 + 5 * 5 + 3 * 3 + 1 = 84 updates for one result that is worth 4 updates: its
//   neighbours do almost the same work again.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y. The square stays in registers.
//
// entry: heat_own_cone
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

constexpr int STEPS = 4;
constexpr int SIDE = 2 * STEPS + 1;

extern "C" __global__ void __launch_bounds__(256)
heat_own_cone(const float* u, float* v, int H, int W, float r)
{
    const int own_row = blockIdx.y * 8 + threadIdx.y, own_column = blockIdx.x * 32 + threadIdx.x;
    if (own_row >= H || own_column >= W) return;

    float cell[SIDE][SIDE];
#pragma unroll
    for (int y = 0; y < SIDE; ++y) {
#pragma unroll
        for (int x = 0; x < SIDE; ++x) {
            const int row = own_row - STEPS + y, column = own_column - STEPS + x;
            const bool in_field = row >= 0 && row < H && column >= 0 && column < W;
            cell[y][x] = in_field ? u[(size_t)row * W + column] : 0.0f;
        }
    }
#pragma unroll
    for (int k = 1; k <= STEPS; ++k) {
        float before[SIDE];  // the row above, as it was before this step
#pragma unroll
        for (int x = k; x < SIDE - k; ++x) before[x] = cell[k - 1][x];
#pragma unroll
        for (int y = k; y < SIDE - k; ++y) {
            float left = cell[y][k - 1];
#pragma unroll
            for (int x = k; x < SIDE - k; ++x) {
                const int row = own_row - STEPS + y, column = own_column - STEPS + x;
                const float old = cell[y][x];
                if (row > 0 && row < H - 1 && column > 0 && column < W - 1) {
                    cell[y][x] += r * (before[x] + cell[y + 1][x] + left + cell[y][x + 1] - 4.0f * old);
                }
                before[x] = left = old;
            }
        }
    }
    v[(size_t)own_row * W + own_column] = cell[STEPS][STEPS];
}
