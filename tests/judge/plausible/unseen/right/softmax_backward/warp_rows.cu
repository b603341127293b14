// right: a warp for each row, float4 where both rows allow it, __ldcs and __stcs
// grid: ceil(rows/3)
// block: 96
__global__ void softmax_backward(const float* y, const float* dy, float* dx, int rows, int columns)
{
    const int row = blockIdx.x * 3 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float *a = y + (size_t)row * columns, *b = dy + (size_t)row * columns;
    float* c = dx + (size_t)row * columns;
    float s = 0;
    if ((((size_t)a | (size_t)b) & 15) == 0) {
        int k = lane * 4;
        for (; k + 3 < columns; k += 128) {
            const float4 u = __ldcs((const float4*)(a + k)), v = __ldcs((const float4*)(b + k));
            s += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
        }
        for (; k < columns; k += 128)
            for (int e = k; e < min(columns, k + 4); ++e) s += a[e] * b[e];
    } else {
        for (int k = lane; k < columns; k += 32) s += a[k] * b[k];
    }
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
    for (int k = lane; k < columns; k += 32) __stcs(c + k, a[k] * (b[k] - s));
}
