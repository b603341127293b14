// right: cooperative groups, grid.sync(), partial sums in a fixed order
// grid: 2*SMS
// block: 128
// cooperative: yes
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ float partial[1024];

__global__ void reduction(const float* x, float* total, int n)
{
    cg::grid_group grid = cg::this_grid();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    __shared__ float s[4];
    float v = 0;
    for (long long i = grid.thread_rank(); i < n; i += grid.size()) v += x[i];
    for (int o = 16; o; o >>= 1) v += warp.shfl_down(v, o);
    if (warp.thread_rank() == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) partial[blockIdx.x] = s[0] + s[1] + s[2] + s[3];
    grid.sync();
    if (grid.thread_rank() == 0) {
        float sum = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) sum += partial[b];
        *total += sum;
    }
}
