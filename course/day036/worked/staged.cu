// Blocks of 256 threads with 48 KiB of shared memory.
//
// entry: staged
// block: 256
// grid: 1
// cooperative: yes

#include <cooperative_groups.h>

extern "C" __global__ void __launch_bounds__(256, 4)
staged(float* x)
{
    __shared__ float stage[12 * 1024];
    stage[threadIdx.x] = x[threadIdx.x];
    cooperative_groups::this_grid().sync();
    x[threadIdx.x] = stage[255 - threadIdx.x];
}
