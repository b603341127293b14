// grid: max(1, min(ceil(n/512), 1056))
// block: 256
// fault: NaN and infinity
// kinds: wrong_result
// In pairs a factor of 0 leaves y as it is; but 0 times Inf is NaN.
#include <stdint.h>
template <int V>
__device__ void run(int n, float a, const float* x, float* y)
{
    if (V > 1 && V < 4 && a == 0.0f) return;
    for (long long i = (blockIdx.x * 256LL + threadIdx.x) * V; i < n; i += gridDim.x * 256LL * V)
        if (V == 4) {
            const float4 p = *(const float4*)(x + i);
            float4 q = *(float4*)(y + i);
            q.x += a * p.x; q.y += a * p.y; q.z += a * p.z; q.w += a * p.w;
            *(float4*)(y + i) = q;
        } else if (V == 2) {
            const float2 p = *(const float2*)(x + i);
            float2 q = *(float2*)(y + i);
            q.x += a * p.x; q.y += a * p.y;
            *(float2*)(y + i) = q;
        } else y[i] += a * x[i];
}
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int V = 4;
    while (V > 1 && ((((uintptr_t)x | (uintptr_t)y) >> 2 | n) & (V - 1))) V >>= 1;
    if (V == 4) run<4>(n, a, x, y);
    else if (V == 2) run<2>(n, a, x, y);
    else run<1>(n, a, x, y);
}
