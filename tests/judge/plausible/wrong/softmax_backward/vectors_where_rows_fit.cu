// fault: four at a time where columns % 4 is 0, and the arrays' own addresses are not looked at
// kinds: misaligned
// grid: rows
// block: 32
__global__ void bwd(const float* y, const float* dy, float* dx, int rows, int columns)
{
    const size_t at = (size_t)blockIdx.x * columns;
    float s = 0;
    for (int i = threadIdx.x; i < columns; i += 32) s += y[at + i] * dy[at + i];
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if (columns % 4 == 0) {
        for (int i = threadIdx.x; i < columns / 4; i += 32) {
            const float4 a = ((const float4*)(y + at))[i], b = ((const float4*)(dy + at))[i];
            ((float4*)(dx + at))[i] = make_float4(a.x * (b.x - s), a.y * (b.y - s), a.z * (b.z - s), a.w * (b.w - s));
        }
    } else {
        for (int i = threadIdx.x; i < columns; i += 32) dx[at + i] = y[at + i] * (dy[at + i] - s);
    }
}
