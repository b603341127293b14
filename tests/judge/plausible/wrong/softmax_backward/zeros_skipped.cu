// fault: leaves an element at 0 where y is 0: 0 times a sum of Inf or NaN is NaN
// kinds: wrong_result
// grid: rows
// block: 32
__global__ void bwd(const float* y, const float* dy, float* dx, int rows, int columns)
{
    const size_t at = (size_t)blockIdx.x * columns;
    float s = 0;
    for (int i = threadIdx.x; i < columns; i += 32)
        if (y[at + i] != 0) s += y[at + i] * dy[at + i];
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    for (int i = threadIdx.x; i < columns; i += 32) dx[at + i] = y[at + i] == 0 ? 0 : y[at + i] * (dy[at + i] - s);
}
