// Last row lost: offsets has one element more than there are rows, and the kernel takes one away once too often.
//
// entry: spmv_last_row_lost
// block: 256
// grid: ceil(rows/256)
// expect: wrong_result never_written

extern "C" __global__ void spmv_last_row_lost(
    const int* offsets, const int* indices, const float* values, const float* x, float* y, int rows, int entries)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows - 1) return;
    float sum = 0.0f;
    for (int k = offsets[row]; k < offsets[row + 1]; ++k) sum += values[k] * x[indices[k]];
    y[row] = sum;
}
