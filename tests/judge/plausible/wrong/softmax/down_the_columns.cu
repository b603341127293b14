// fault: over the wrong axis: each column adds up to 1
// kinds: wrong_result
// grid: ceil(columns/128)
// block: 128
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    int c = blockIdx.x * 128 + threadIdx.x;
    if (c >= columns) return;
    float m = -INFINITY, s = 0;
    for (int r = 0; r < rows; ++r) m = fmaxf(m, x[(size_t)r * columns + c]);
    for (int r = 0; r < rows; ++r) s += expf(x[(size_t)r * columns + c] - m);
    for (int r = 0; r < rows; ++r) y[(size_t)r * columns + c] = expf(x[(size_t)r * columns + c] - m) / s;
}
