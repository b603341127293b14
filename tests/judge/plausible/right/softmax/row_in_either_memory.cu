// grid: rows
// block: 96
// The row lies in shared memory where it fits and in y where it does not: one pointer reads and writes both.
__device__ float together(float v, float* part, bool largest)
{
    for (int k = 16; k; k >>= 1) {
        const float w = __shfl_xor_sync(~0u, v, k);
        v = largest ? fmaxf(v, w) : v + w;
    }
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    return largest ? fmaxf(fmaxf(part[0], part[1]), part[2]) : part[0] + part[1] + part[2];
}
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    __shared__ float kept[1536], largest[3], sums[3];
    const int t = threadIdx.x;
    const size_t at = (size_t)blockIdx.x * columns;
    float* row = columns <= 1536 ? kept : y + at;
    for (int i = t; i < columns; i += 96) row[i] = x[at + i];
    __syncthreads();
    float m = -INFINITY, s = 0;
    for (int i = columns - 1 - t; i >= 0; i -= 96) m = fmaxf(m, row[i]);
    m = together(m, largest, true);
    for (int i = columns - 1 - t; i >= 0; i -= 96) s += row[i] = expf(row[i] - m);
    s = together(s, sums, false);  // its barrier is behind what the other threads have written, too
    for (int i = t; i < columns; i += 96) y[at + i] = row[i] / s;
}
