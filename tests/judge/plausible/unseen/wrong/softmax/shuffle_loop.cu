// grid: rows
// block: 32
// fault: shuffle in ragged loop
// kinds: member_mask inactive_lane
// The full-mask shuffle stands in a loop that lanes past the row's end have left.
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    const float* row = x + (size_t)blockIdx.x * columns;
    float m = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < columns; c += 32) {
        float v = row[c];
        for (int d = 16; d; d >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, d));
        m = fmaxf(m, v);
    }
    for (int c = threadIdx.x; c < columns; c += 32) sum += expf(row[c] - m);
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, d);
    for (int c = threadIdx.x; c < columns; c += 32) y[(size_t)blockIdx.x * columns + c] = expf(row[c] - m) / sum;
}
