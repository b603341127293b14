// fault: shuffles inside the loop over the row: in the last turn lanes are missing unless columns % 32 is 0
// kinds: member_mask wrong_result uninitialised_read inactive_lane
// grid: ceil(rows/4)
// block: 32 4
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    const int row = blockIdx.x * 4 + threadIdx.y;
    if (row >= rows) return;
    const float* a = x + (size_t)row * columns;
    float m = -INFINITY, s = 0;
    for (int i = threadIdx.x; i < columns; i += 32) {
        float v = a[i], now = v;
        for (int k = 16; k; k >>= 1) now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, k));
        now = fmaxf(m, now);
        float e = expf(v - now);
        for (int k = 16; k; k >>= 1) e += __shfl_xor_sync(0xffffffffu, e, k);
        s = s * expf(m - now) + e;
        m = now;
    }
    for (int i = threadIdx.x; i < columns; i += 32) y[(size_t)row * columns + i] = expf(a[i] - m) / s;
}
