// fault: a block walks over several rows, and the sum in shared memory is cleared before the first only
// kinds: wrong_result race
// grid: min(rows, SMS)
// block: 64
__global__ void bwd(const float* y, const float* dy, float* dx, int rows, int columns)
{
    __shared__ float s;
    if (threadIdx.x == 0) s = 0;
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        __syncthreads();
        const size_t at = (size_t)r * columns;
        float mine = 0;
        for (int i = threadIdx.x; i < columns; i += 64) mine += y[at + i] * dy[at + i];
        atomicAdd(&s, mine);
        __syncthreads();
        for (int i = threadIdx.x; i < columns; i += 64) dx[at + i] = y[at + i] * (dy[at + i] - s);
    }
}
