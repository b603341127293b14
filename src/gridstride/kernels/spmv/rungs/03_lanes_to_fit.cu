// 03 lanes to fit: a part of a warp has a row, as many lanes as the mean length asks for, and each row's first loads
// are on their way together.
//
// Moves: requests and instructions, to a fraction where rows are short: with 5 entries a row a warp has 16 rows in
//   place of one. Loads on their way: four pairs of a lane, of two rows at a time, in place of one.
// Mapping: lane l of a group of LANES -> entries l, l + LANES ... of a row; group g -> rows g, g + groups ..., two of
//   them at a time. LANES is a quarter of the mean length, as a power of two from 2 to 32.
//
// entry: spmv_lanes_to_fit
// block: 256
// grid: min(ceil(rows/8), 8*SMS)

constexpr int THREADS = 256;
constexpr int UNROLL = 4;        // entries of a row on their way, of a lane
constexpr int ROWS_AT_ONCE = 2;  // of a group
constexpr unsigned int ALL_LANES = 0xffffffffu;

template <int LANES>
__device__ __forceinline__ void rows_by_groups(
    const int* __restrict__ offsets, const int* __restrict__ indices, const float* __restrict__ values,
    const float* __restrict__ x, float* __restrict__ y, int rows)
{
    const int lane = threadIdx.x % LANES;
    const long long groups = (long long)gridDim.x * (THREADS / LANES);
    const long long group = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
    // By the first row of the block, so that lanes of one warp go round equally often and may all shuffle.
    for (long long round = 0; round + blockIdx.x * (THREADS / LANES) < rows; round += ROWS_AT_ONCE * groups) {
        const int* column_of[ROWS_AT_ONCE];
        const float* value_of[ROWS_AT_ONCE];
        int left[ROWS_AT_ONCE];  // entries from the lane's next one on
#pragma unroll
        for (int r = 0; r < ROWS_AT_ONCE; ++r) {
            const long long row = round + group + r * groups;
            const int begin = row < rows ? offsets[row] : 0;
            left[r] = row < rows ? offsets[row + 1] - begin - lane : 0;
            column_of[r] = indices + begin + lane;
            value_of[r] = values + begin + lane;
        }
        float sum[ROWS_AT_ONCE] = {};
        // Entries of all rows in one loop: where they fit it once, as most do, no load waits for another row's.
        while (max(left[0], left[1]) > 0) {
            int column[ROWS_AT_ONCE][UNROLL];
            float value[ROWS_AT_ONCE][UNROLL];
#pragma unroll
            for (int r = 0; r < ROWS_AT_ONCE; ++r) {
#pragma unroll
                for (int u = 0; u < UNROLL; ++u) {
                    const bool there = u * LANES < left[r];
                    column[r][u] = there ? column_of[r][u * LANES] : -1;
                    value[r][u] = there ? value_of[r][u * LANES] : 0.0f;
                }
                left[r] = max(left[r] - UNROLL * LANES, 0);
                column_of[r] += UNROLL * LANES;
                value_of[r] += UNROLL * LANES;
            }
#pragma unroll
            for (int r = 0; r < ROWS_AT_ONCE; ++r) {
#pragma unroll
                for (int u = 0; u < UNROLL; ++u)
                    if (column[r][u] >= 0) sum[r] += value[r][u] * x[column[r][u]];
            }
        }
#pragma unroll
        for (int away = LANES / 2; away > 0; away /= 2) {
#pragma unroll
            for (int r = 0; r < ROWS_AT_ONCE; ++r) sum[r] += __shfl_xor_sync(ALL_LANES, sum[r], away);
        }
#pragma unroll
        for (int r = 0; r < ROWS_AT_ONCE; ++r) {
            const long long row = round + group + r * groups;
            if (lane == 0 && row < rows) y[row] = sum[r];
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) spmv_lanes_to_fit(
    const int* __restrict__ offsets, const int* __restrict__ indices, const float* __restrict__ values,
    const float* __restrict__ x, float* __restrict__ y, int rows, int entries)
{
    const int mean = entries / rows;
    if (mean <= 8) rows_by_groups<2>(offsets, indices, values, x, y, rows);
    else if (mean <= 16) rows_by_groups<4>(offsets, indices, values, x, y, rows);
    else if (mean <= 32) rows_by_groups<8>(offsets, indices, values, x, y, rows);
    else if (mean <= 64) rows_by_groups<16>(offsets, indices, values, x, y, rows);
    else rows_by_groups<32>(offsets, indices, values, x, y, rows);
}
