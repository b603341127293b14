// grid: ceil(n/1536)
// block: 192
//
// CUB's block reduction over eight elements a thread.

#include <cub/block/block_reduce.cuh>

__global__ void reduction(const float* x, float* total, int n)
{
    using Reduce = cub::BlockReduce<float, 192>;
    __shared__ typename Reduce::TempStorage storage;
    float items[8];
    for (int k = 0; k < 8; ++k) {
        const int i = (blockIdx.x * 8 + k) * 192 + threadIdx.x;
        items[k] = i < n ? x[i] : 0.0f;
    }
    const float sum = Reduce(storage).Sum(items);
    if (threadIdx.x == 0) atomicAdd(total, sum);
}
