// Room as entries: the last row ends where the memory does and not where the matrix does, at columns that there are
// not.
//
// entry: spmv_room_as_entries
// block: 256
// grid: ceil(rows/256)
// expect: out_of_bounds

extern "C" __global__ void spmv_room_as_entries(
    const int* offsets, const int* indices, const float* values, const float* x, float* y, int rows, int entries)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const int end = row + 1 < rows ? offsets[row + 1] : entries;
    float sum = 0.0f;
    for (int k = offsets[row]; k < end; ++k) sum += values[k] * x[indices[k]];  // <- here
    y[row] = sum;
}
