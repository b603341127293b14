// fault: a lane reads what other lanes have put into the row, which is in shared memory if it fits, with no __syncwarp()
// kinds: race
// grid: rows
// block: 32
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    __shared__ float kept[2048];
    const int t = threadIdx.x;
    const size_t at = (size_t)blockIdx.x * columns;
    const float* row = x + at;
    float m = -INFINITY, s = 0;
    for (int i = t; i < columns; i += 32) {
        m = fmaxf(m, x[at + i]);
        if (columns <= 2048) kept[i] = x[at + i];
    }
    if (columns <= 2048) row = kept;
    for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
    for (int i = columns - 1 - t; i >= 0; i -= 32) s += expf(row[i] - m);
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    for (int i = columns - 1 - t; i >= 0; i -= 32) y[at + i] = expf(row[i] - m) / s;
}
