// 03 register column: a thread holds a column of 40 cells in registers and gets its neighbours' by shuffle.
//
// Moves: shared wavefronts and barriers, both to 0: of the four neighbours two are the thread's own, two its lanes' to
//   the left and right. The price: a warp is only 32 wide, so 32 * 40 / (24 * 32) = 1.67 loads for each cell.
// Mapping: a warp -> 32 columns, of which the middle 24 are its own; a thread -> 40 rows, of which the middle 32 are.
//   The 4 warps of a block lie side by side.
//
// entry: heat_register_column
// block: 128
// grid: ceil(W/96) ceil(H/32)

constexpr int STEPS = 4;
constexpr int OWN_ROWS = 32, ROWS = OWN_ROWS + 2 * STEPS;
constexpr int OWN_COLUMNS = 32 - 2 * STEPS;
constexpr int WARPS = 4;
constexpr unsigned int ALL = 0xffffffff;

extern "C" __global__ void __launch_bounds__(32 * WARPS)
heat_register_column(const float* __restrict__ u, float* __restrict__ v, int H, int W, float r)
{
    const int lane = threadIdx.x % 32;
    const int column = (blockIdx.x * WARPS + threadIdx.x / 32) * OWN_COLUMNS + lane - STEPS;
    const int first_row = blockIdx.y * OWN_ROWS - STEPS;
    const bool in_field = column >= 0 && column < W;
    const bool moves = column > 0 && column < W - 1;  // the edge does not

    float cell[ROWS];
#pragma unroll
    for (int y = 0; y < ROWS; ++y) {
        const int row = first_row + y;
        cell[y] = in_field && row >= 0 && row < H ? u[(size_t)row * W + column] : 0.0f;
    }
#pragma unroll
    for (int k = 1; k <= STEPS; ++k) {
        float above = cell[k - 1];  // as it was before this step
#pragma unroll
        for (int y = k; y < ROWS - k; ++y) {
            const int row = first_row + y;
            const float old = cell[y];
            const float beside = __shfl_up_sync(ALL, old, 1) + __shfl_down_sync(ALL, old, 1);
            if (moves && row > 0 && row < H - 1) cell[y] += r * (above + cell[y + 1] + beside - 4.0f * old);
            above = old;
        }
    }
    if (!in_field || lane < STEPS || lane >= 32 - STEPS) return;
#pragma unroll
    for (int y = STEPS; y < ROWS - STEPS; ++y) {
        const int row = first_row + y;
        if (row < H) v[(size_t)row * W + column] = cell[y];
    }
}
