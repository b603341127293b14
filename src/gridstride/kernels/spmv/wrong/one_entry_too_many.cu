// One entry too many: a row goes up to its end and takes the first entry of the next, the last row one of nobody.
//
// entry: spmv_one_entry_too_many
// block: 256
// grid: ceil(rows/256)
// expect: out_of_bounds

extern "C" __global__ void spmv_one_entry_too_many(
    const int* offsets, const int* indices, const float* values, const float* x, float* y, int rows, int entries)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = offsets[row]; k <= offsets[row + 1]; ++k) sum += values[k] * x[indices[k]];  // <- here
    y[row] = sum;
}
