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
    __shared__ float part[4][64];
    __shared__ int came[4][64];
    if (row >= rows) return;
    // a tree: who comes second to a node goes on with both sums (Karras' way), no lane waits for another
    came[w][lane] = came[w][lane + 32] = 0;
    __syncwarp();
    int node = 32 + lane;
    part[w][node] = lane_sum(a, b, row, columns, lane);
    while (node > 1) {
        __threadfence_block();
        if (atomicAdd(&came[w][node >> 1], 1) == 0) break;
        __threadfence_block();
        node >>= 1;
        part[w][node] = part[w][2 * node] + part[w][2 * node + 1];
    }
    if (node == 1) y[row] = part[w][1];
}
