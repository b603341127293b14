// 04 walking rows: a warp walks down the field and has all four steps under way at once, a row each.
//
// Moves: loads for each cell, from 1.67 to 128 / 120 * (64 + 8) / 64 = 1.2, in requests of 16 bytes a lane. When row y
//   comes in, row y - 1 takes its first step, row y - 2 its second, y - 3 its third, y - 4 its last and is written.
// Mapping: lane l of a warp -> columns 4 l ... 4 l + 3 of 128; the first and last lane hold the rim of 4 columns, so
//   that a warp's own columns begin at a multiple of 4. A warp is a block and walks 64 rows.
//
// entry: heat_walking_rows
// block: 32
// grid: ceil(W/120) ceil(H/64)

constexpr int STEPS = 4;
constexpr int OWN_ROWS = 64;
constexpr int OWN_COLUMNS = 120;
constexpr int AHEAD = 3;  // rows on their way: a multiple of the three that each step keeps
constexpr unsigned int ALL = 0xffffffff;

// What lies outside the field is 0; `vectors`: rows are 16-byte aligned.
__device__ __forceinline__ float4 load(const float* u, int row, int column, int H, int W, bool vectors)
{
    float4 c = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (row < 0 || row >= H || column < 0 || column >= W) return c;
    const float* p = u + (size_t)row * W + column;
    if (vectors) return *reinterpret_cast<const float4*>(p);
    c.x = p[0];
    if (column + 1 < W) c.y = p[1];
    if (column + 2 < W) c.z = p[2];
    if (column + 3 < W) c.w = p[3];
    return c;
}

__device__ __forceinline__ float moved(float cell, float above, float below, float left, float right, float r)
{
    return cell + r * (above + below + left + right - 4.0f * cell);
}

// A row one step later. `inner`: the first and the last column that move, counted from the lane's first.
__device__ __forceinline__ float4 step(float4 above, float4 row, float4 below, bool moves, int2 inner, float r)
{
    const float left = __shfl_up_sync(ALL, row.w, 1), right = __shfl_down_sync(ALL, row.x, 1);
    float4 c = row;
    if (moves && inner.x <= 0 && inner.y >= 0) c.x = moved(row.x, above.x, below.x, left, row.y, r);
    if (moves && inner.x <= 1 && inner.y >= 1) c.y = moved(row.y, above.y, below.y, row.x, row.z, r);
    if (moves && inner.x <= 2 && inner.y >= 2) c.z = moved(row.z, above.z, below.z, row.y, row.w, r);
    if (moves && inner.x <= 3 && inner.y >= 3) c.w = moved(row.w, above.w, below.w, row.z, right, r);
    return c;
}

extern "C" __global__ void __launch_bounds__(32)
heat_walking_rows(const float* __restrict__ u, float* __restrict__ v, int H, int W, float r)
{
    const int lane = threadIdx.x;
    const int column = blockIdx.x * OWN_COLUMNS - STEPS + 4 * lane;
    const int first_row = blockIdx.y * OWN_ROWS;
    const int last_row = min(first_row + OWN_ROWS, H);  // one past the last that is written
    const bool vectors = W % 4 == 0 && (((size_t)u | (size_t)v) & 15) == 0;
    const bool own = lane > 0 && lane < 31 && column < W;
    const int2 inner = make_int2(1 - column, W - 2 - column);

    float4 ahead[AHEAD];
    float4 rows[STEPS][3] = {};  // of each step's input the last three; slot i holds the i-th of each three rows
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) ahead[i] = load(u, first_row - STEPS + i, column, H, W, vectors);

    for (int start = first_row - STEPS; start < last_row + STEPS; start += 3) {
#pragma unroll
        for (int i = 0; i < 3; ++i) {
            float4 row = ahead[i];
            ahead[i] = load(u, start + AHEAD + i, column, H, W, vectors);
#pragma unroll
            for (int k = 0; k < STEPS; ++k) {
                // Row start + i - k comes in at slot i - k: the one before it takes its step.
                constexpr int MANY = 3 * STEPS;
                rows[k][(i - k + MANY) % 3] = row;
                const int y = start + i - k - 1;
                row = step(rows[k][(i - k - 2 + MANY) % 3], rows[k][(i - k - 1 + MANY) % 3], row,
                           y > 0 && y < H - 1, inner, r);
            }
            const int y = start + i - STEPS;
            if (!own || y < first_row || y >= last_row) continue;
            float* p = v + (size_t)y * W + column;
            if (vectors) {
                *reinterpret_cast<float4*>(p) = row;
            } else {
                p[0] = row.x;
                if (column + 1 < W) p[1] = row.y;
                if (column + 2 < W) p[2] = row.z;
                if (column + 3 < W) p[3] = row.w;
            }
        }
    }
}
