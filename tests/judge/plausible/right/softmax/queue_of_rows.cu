// grid: 3
// block: 96
// Warps take rows from a queue; powers go to y at once and are scaled there; the last warp takes the ticket back to 0.
__device__ int ticket, gone;
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    const int lane = threadIdx.x % 32;
    for (;;) {
        int row = lane == 0 ? atomicAdd(&ticket, 1) : 0;
        row = __shfl_sync(~0u, row, 0);
        if (row >= rows) break;
        const float* a = x + (size_t)row * columns;
        float* b = y + (size_t)row * columns;
        float m = -INFINITY, s = 0;
        for (int i = lane; i < columns; i += 32) m = fmaxf(m, a[i]);
        for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
        for (int i = lane; i < columns; i += 32) s += b[i] = exp2f((a[i] - m) * 1.44269504f);
        for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
        for (int i = lane; i < columns; i += 32) b[i] /= s;
    }
    __syncwarp();
    if (lane == 0 && atomicAdd(&gone, 1) == 3 * (int)gridDim.x - 1) gone = ticket = 0;
}
