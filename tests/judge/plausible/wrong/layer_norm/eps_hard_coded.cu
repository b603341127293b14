// fault: eps is written into the code as 1e-5 and the parameter ignored
// kinds: wrong_result
// grid: ceil(rows/64)
// block: 64
__global__ void norm(const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd, int rows, int columns, float eps)
{
    const int row = blockIdx.x * 64 + threadIdx.x;
    if (row >= rows) return;
    const size_t at = (size_t)row * columns;
    float s = 0, q = 0;
    for (int i = 0; i < columns; ++i) s += x[at + i];
    const float c = s / columns;
    for (int i = 0; i < columns; ++i) q += (x[at + i] - c) * (x[at + i] - c);
    const float r = rsqrtf(q / columns + 1e-5f);
    for (int i = 0; i < columns; ++i) y[at + i] = (x[at + i] - c) * r * weight[i] + bias[i];
    mean[row] = c;
    rstd[row] = r;
}
