// Added to what was there: y is an output, and holds anything before the first addition.
//
// entry: spmv_added_to_what_was
// block: 256
// grid: ceil(rows/8)
// expect: uninitialised_read

extern "C" __global__ void spmv_added_to_what_was(
    const int* offsets, const int* indices, const float* values, const float* x, float* y, int rows, int entries)
{
    const int row = blockIdx.x * 8 + threadIdx.x / 32;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = offsets[row] + threadIdx.x % 32; k < offsets[row + 1]; k += 32) sum += values[k] * x[indices[k]];
    atomicAdd(&y[row], sum);  // <- here
}
