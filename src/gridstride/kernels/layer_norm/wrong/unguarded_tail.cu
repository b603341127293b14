// Unguarded tail: threads in steps of 32 run past the end of the last row.
//
// entry: layer_norm_unguarded_tail
// block: 32
// grid: rows
// expect: out_of_bounds

extern "C" __global__ void layer_norm_unguarded_tail(
    const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd,
    int rows, int columns, float eps)
{
    const long long start = (long long)blockIdx.x * columns;
    float sum = 0.0f, squares = 0.0f;
    for (int base = 0; base < columns; base += 32) sum += x[start + base + threadIdx.x];  // <- here
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    const float centre = sum / columns;
    for (int i = threadIdx.x; i < columns; i += 32) squares += (x[start + i] - centre) * (x[start + i] - centre);
    for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(~0u, squares, offset);
    const float scale = rsqrtf(squares / columns + eps);
    for (int i = threadIdx.x; i < columns; i += 32)
        y[start + i] = (x[start + i] - centre) * scale * weight[i] + bias[i];
    if (threadIdx.x == 0) mean[blockIdx.x] = centre, rstd[blockIdx.x] = scale;
}
