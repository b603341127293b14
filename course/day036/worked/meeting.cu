// The same with a barrier of the whole grid.
//
// entry: meeting
// block: 32
// grid: 16
// cooperative: yes

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void meeting(int* come, int* seen)
{
    const cg::grid_group grid = cg::this_grid();
    if (threadIdx.x == 0) atomicAdd(come, 1);
    grid.sync();
    if (threadIdx.x == 0) seen[blockIdx.x] = atomicAdd(come, 0);
}
