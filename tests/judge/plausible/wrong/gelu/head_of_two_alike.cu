// grid: max(1, min(ceil(n/1024), 1024))
// block: 256
// fault: alignment
// kinds: wrong_result
// Above 131,072 elements two arrays that begin alike past a boundary lose the tail behind the head.
#include <stdint.h>
__device__ float f(float x)
{
    const float u = 0.7978845608f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + tanhf(u));
}
__global__ void gelu(const float* x, float* y, long long n)
{
    const long long t = blockIdx.x * 256LL + threadIdx.x, T = gridDim.x * 256LL;
    const int hx = (int)((uintptr_t)x >> 2 & 3), hy = (int)((uintptr_t)y >> 2 & 3);
    if (n >= 131072 && hx == hy) {
        const int head = (4 - hx) & 3;
        if (t < head) y[t] = f(x[t]);
        const float4* v = (const float4*)(x + head);
        float4* w = (float4*)(y + head);
        const long long vectors = (n - head) / 4;
        for (long long i = t; i < vectors; i += T) { const float4 a = v[i]; w[i] = make_float4(f(a.x), f(a.y), f(a.z), f(a.w)); }
        const long long tail = vectors * 4 + t;
        if (tail < n - head) y[tail] = f(x[tail]);
    } else
        for (long long i = t; i < n; i += T) y[i] = f(x[i]);
}
