// 02 warp per row: lanes run along a row and add up their sums by shuffles.
//
// Moves: sectors a request of values and indices, to 4 where rows are long. Rows that are shorter than a warp leave
//   lanes idle: with 5 entries a row, 27 of 32.
// Mapping: warp w has row w; lane l its entries l, l + 32 and so on.
//
// entry: spmv_warp_per_row
// block: 256
// grid: ceil(rows/8)

constexpr unsigned int ALL_LANES = 0xffffffffu;

extern "C" __global__ void spmv_warp_per_row(
    const int* offsets, const int* indices, const float* values, const float* x, float* y, int rows, int entries)
{
    const long long row = blockIdx.x * (blockDim.x / 32ll) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) return;
    const int end = offsets[row + 1];
    float sum = 0.0f;
    for (long long k = offsets[row] + (long long)lane; k < end; k += 32) sum += values[k] * x[indices[k]];
    for (int away = 16; away > 0; away /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, away);
    if (lane == 0) y[row] = sum;
}
