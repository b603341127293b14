// grid: 16
// block: 256
// cooperative: yes
// Partial sums in global memory, a barrier of the whole grid, and every block adds them in the same order.

#include <cooperative_groups.h>
__device__ double partial[16];
__global__ void remove_mean(const float* x, float* y, int n) {
    __shared__ double s[256]; int t = threadIdx.x; double a = 0;
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) a += x[i];
    s[t] = a; __syncthreads();
    for (int k = 128; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
    if (t == 0) partial[blockIdx.x] = s[0];
    cooperative_groups::this_grid().sync();
    double m = 0;
    for (int b = 0; b < gridDim.x; b++) m += partial[b];
    float f = (float)(m / n);
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) y[i] = x[i] - f;
}
