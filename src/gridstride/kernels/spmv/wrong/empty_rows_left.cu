// Empty rows left: a row without entries is passed over, and y keeps what it held.
//
// entry: spmv_empty_rows_left
// block: 256
// grid: ceil(rows/256)
// expect: wrong_result never_written

extern "C" __global__ void spmv_empty_rows_left(
    const int* offsets, const int* indices, const float* values, const float* x, float* y, int rows, int entries)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || offsets[row] == offsets[row + 1]) return;
    float sum = 0.0f;
    for (int k = offsets[row]; k < offsets[row + 1]; ++k) sum += values[k] * x[indices[k]];
    y[row] = sum;
}
