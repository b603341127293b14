// grid: min(1024,max(1,ceil(n/256)))
// block: 256
// cooperative: yes
// fault: large sizes
// kinds: wrong_result
// One tile for each block, and 1024 blocks at most: what lies behind 262,144 elements is never touched.
__device__ float sums[1024];
#include <cooperative_groups.h>
__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float s[2][256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t, p = 0;
    s[0][t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2, p ^= 1) {
        s[p ^ 1][t] = s[p][t] + (t >= d ? s[p][t - d] : 0);
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = s[p][255];
    cooperative_groups::this_grid().sync();
    float before = 0;
    for (int b = 0; b < blockIdx.x; ++b) before += sums[b];
    if (i < n) y[i] = before + s[p][t];
}
