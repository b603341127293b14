// grid: min(ceil(n/1024), 4*SMS)
// block: 128
// A ring of four stages of cp.async, each thread copies what all read (turned within the block); wait, barrier, use, refill.
#include <cuda_pipeline_primitives.h>
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    constexpr int S = 4, T = 128;
    __shared__ float sa[S][T], sb[S][T];
    const int t = threadIdx.x, u = T - 1 - t;
    const long long stride = gridDim.x * (long long)T, first = blockIdx.x * (long long)T;
    const int tiles = first < n ? (int)((n - first + stride - 1) / stride) : 0;
    auto fill = [&](int k) {
        const long long i = first + k * stride + t;
        if (k < tiles && i < n) {
            __pipeline_memcpy_async(&sa[k % S][t], &a[i], 4);
            __pipeline_memcpy_async(&sb[k % S][t], &b[i], 4);
        }
        __pipeline_commit();
    };
    for (int k = 0; k < S - 1; k++) fill(k);
    for (int k = 0; k < tiles; k++) {
        __pipeline_wait_prior(S - 2);
        __syncthreads();
        fill(k + S - 1);
        const long long i = first + k * stride + u;
        if (i < n) c[i] = sa[k % S][u] + sb[k % S][u];
    }
}
