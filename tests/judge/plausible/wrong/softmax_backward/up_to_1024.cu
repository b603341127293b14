// fault: eight elements per thread in registers, 1,024 in all: what lies behind them is neither summed nor written
// kinds: wrong_result uninitialised_read
// grid: rows
// block: 128
__global__ void bwd(const float* y, const float* dy, float* dx, int rows, int columns)
{
    __shared__ float part[4];
    const size_t at = (size_t)blockIdx.x * columns;
    float a[8], b[8], s = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const int i = k * 128 + threadIdx.x;
        a[k] = i < columns ? y[at + i] : 0;
        b[k] = i < columns ? dy[at + i] : 0;
        s += a[k] * b[k];
    }
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    s = part[0] + part[1] + part[2] + part[3];
#pragma unroll
    for (int k = 0; k < 8; ++k)
        if (k * 128 + threadIdx.x < columns) dx[at + k * 128 + threadIdx.x] = a[k] * (b[k] - s);
}
