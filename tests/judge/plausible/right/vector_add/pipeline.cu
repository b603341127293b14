// grid: ceil(n/512)
// block: 128
// cuda::memcpy_async-like staging in two stages with cp.async, four bytes at a time, so that no alignment is needed.
#include <cuda_pipeline.h>
__global__ void add_pipelined(const float* a, const float* b, float* c, int n)
{
    __shared__ float sa[2][128], sb[2][128];
    const int t = threadIdx.x;
    const long long base = 512LL * blockIdx.x + t;
    auto fetch = [&](int k) {
        if (k < 4 && base + 128 * k < n) {
            __pipeline_memcpy_async(&sa[k & 1][t], a + base + 128 * k, 4);
            __pipeline_memcpy_async(&sb[k & 1][t], b + base + 128 * k, 4);
        }
        __pipeline_commit();
    };
    fetch(0);
    for (int k = 0; k < 4; ++k) {
        fetch(k + 1);
        __pipeline_wait_prior(1);  // a thread reads only what it fetched itself
        if (base + 128 * k < n) c[base + 128 * k] = sa[k & 1][t] + sb[k & 1][t];
    }
}
