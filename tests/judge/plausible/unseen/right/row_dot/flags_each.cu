// grid: ceil(rows/4)
// block: 128
#include <cuda_fp16.h>
#include <cuda/atomic>
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
    __shared__ int flag[4][32];
    if (row >= rows) return;
    flag[w][lane] = 0;
    __syncwarp();
    part[w][lane] = lane_sum(a, b, row, columns, lane);
    cuda::atomic_ref<int, cuda::thread_scope_block>(flag[w][lane]).store(1, cuda::memory_order_release);
    if (lane == 7) {
        float s = 0;
        for (int k = 0; k < 32; k++) {
            while (!cuda::atomic_ref<int, cuda::thread_scope_block>(flag[w][k]).load(cuda::memory_order_acquire)) { }
            s += part[w][k];
        }
        y[row] = s;
    }
}
