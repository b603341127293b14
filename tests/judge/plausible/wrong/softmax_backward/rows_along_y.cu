// fault: a row per block along y, where 65,535 is the end
// kinds: launch
// grid: 1 rows
// block: 128
__global__ void bwd(const float* y, const float* dy, float* dx, int rows, int columns)
{
    __shared__ float part[4];
    const size_t at = (size_t)blockIdx.y * columns;
    float s = 0;
    for (int i = threadIdx.x; i < columns; i += 128) s += y[at + i] * dy[at + i];
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    s = part[0] + part[1] + part[2] + part[3];
    for (int i = threadIdx.x; i < columns; i += 128) dx[at + i] = y[at + i] * (dy[at + i] - s);
}
