// grid: ceil(rows/4)
// block: 128
#include <cuda_fp16.h>
__device__ float lane_sum(const __half* a, const __half* b, int row, int columns, int lane)
{
    float s = 0;
    for (int j = lane; j < columns; j += 32) s += __half2float(a[(size_t)row * columns + j]) * __half2float(b[(size_t)row * columns + j]);
    return s;
}
__global__ void row_dot(const __half* a, const __half* b, float* y, int rows, int columns)
{
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5, row = blockIdx.x * 4 + w;
    __shared__ float part[4][32];
    __shared__ int next[4][32];
    __shared__ int head[4];
    if (row >= rows) return;
    // each lane pushes itself on a list by an exchange; behind a __syncwarp lane 0 walks it
    if (lane == 0) head[w] = -1;
    __syncwarp();
    part[w][lane] = lane_sum(a, b, row, columns, lane);
    next[w][lane] = atomicExch(&head[w], lane);
    __syncwarp();
    if (lane == 0) {
        float s = 0;
        for (int k = head[w]; k >= 0; k = next[w][k]) s += part[w][k];
        y[row] = s;
    }
}
