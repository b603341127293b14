// Rows that do not fit: 64 rows are taken to have no more than 16 entries each, and long ones have.
//
// entry: spmv_rows_that_do_not_fit
// block: 64
// grid: ceil(rows/64)
// expect: out_of_bounds

extern "C" __global__ void spmv_rows_that_do_not_fit(
    const int* offsets, const int* indices, const float* values, const float* x, float* y, int rows, int entries)
{
    __shared__ float products[64 * 16];
    const int t = threadIdx.x, row = blockIdx.x * 64 + t;
    const int begin = offsets[blockIdx.x * 64], end = offsets[min(blockIdx.x * 64 + 64, rows)];
    for (int k = begin + t; k < end; k += 64) products[k - begin] = values[k] * x[indices[k]];  // <- here
    __syncthreads();
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = offsets[row]; k < offsets[row + 1]; ++k) sum += products[k - begin];  // <- here
    y[row] = sum;
}
