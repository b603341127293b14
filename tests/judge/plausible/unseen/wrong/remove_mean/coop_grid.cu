// grid: ceil(n/256)
// block: 256
// cooperative: yes
// fault: cooperative grid too large
// kinds: launch
// One block for each 256 elements, all of which must be on the GPU at once: at the timed size there are 65,536.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ float partial[65536];
__global__ void remove_mean(const float* x, float* y, int n)
{
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    float mine = i < n ? x[i] : 0;
    s[t] = mine;
    __syncthreads();
    for (int d = 128; d; d >>= 1) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = s[0];
    cg::this_grid().sync();
    float v = 0;
    for (int b = t; b < gridDim.x; b += 256) v += partial[b];
    s[t] = v;
    __syncthreads();
    for (int d = 128; d; d >>= 1) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (i < n) y[i] = mine - s[0] / n;
}
