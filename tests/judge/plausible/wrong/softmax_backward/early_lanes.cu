// fault: lanes without an element leave before the shuffles that name them
// kinds: member_mask wrong_result uninitialised_read inactive_lane
// grid: ceil(rows/8)
// block: 32 8
__global__ void bwd(const float* y, const float* dy, float* dx, int rows, int columns)
{
    const int row = blockIdx.x * 8 + threadIdx.y, lane = threadIdx.x;
    if (row >= rows || lane >= columns) return;
    const size_t at = (size_t)row * columns;
    float s = 0;
    for (int i = lane; i < columns; i += 32) s += y[at + i] * dy[at + i];
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(0xffffffffu, s, k);
    for (int i = lane; i < columns; i += 32) dx[at + i] = y[at + i] * (dy[at + i] - s);
}
