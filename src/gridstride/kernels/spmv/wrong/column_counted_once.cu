// Column counted once: of neighbouring entries of one column only the first is added.
//
// entry: spmv_column_counted_once
// block: 256
// grid: ceil(rows/256)
// expect: wrong_result

extern "C" __global__ void spmv_column_counted_once(
    const int* offsets, const int* indices, const float* values, const float* x, float* y, int rows, int entries)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = offsets[row]; k < offsets[row + 1]; ++k)
        if (k == offsets[row] || indices[k] != indices[k - 1]) sum += values[k] * x[indices[k]];
    y[row] = sum;
}
