// 01 thread per row: one thread adds up the products of a row.
//
// Moves: nothing yet. Lanes lie a row apart, so a load of the warp touches up to 32 sectors for 4 bytes of each; and a
//   warp takes as long as the longest of its 32 rows.
// Mapping: thread t has row t.
//
// entry: spmv_thread_per_row
// block: 256
// grid: ceil(rows/256)

extern "C" __global__ void spmv_thread_per_row(
    const int* offsets, const int* indices, const float* values, const float* x, float* y, int rows, int entries)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = offsets[row]; k < offsets[row + 1]; ++k) sum += values[k] * x[indices[k]];
    y[row] = sum;
}
