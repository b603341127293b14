// grid: ceil(n/256)
// block: 256
// The lanes with work form a group among themselves, which hands a's bits around by a shuffle.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void saxpy_group(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    cg::coalesced_group active = cg::coalesced_threads();
    const float factor = active.shfl(a, 0);
    y[i] += factor * x[i];
}
