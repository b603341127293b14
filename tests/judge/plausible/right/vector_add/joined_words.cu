// grid: max(1, min(ceil(n/1024), 1024))
// block: 256
#include <stdint.h>
template <int S>
__device__ float4 joined(float4 p, float4 q)
{
    if (S == 1) return make_float4(p.y, p.z, p.w, q.x);
    if (S == 2) return make_float4(p.z, p.w, q.x, q.y);
    return make_float4(p.w, q.x, q.y, q.z);
}
// a and b begin S elements past a vector, c at one
template <int S>
__device__ void shifted(const float* a, const float* b, float* c, int n, int t, int T)
{
    const float4* A = (const float4*)(a - S);
    const float4* B = (const float4*)(b - S);
    if (t < 4 && t < n) c[t] = a[t] + b[t];  // nothing may be read in front of the arrays
    const int vectors = n / 4;
    for (int i = t + 1; i < vectors - 1; i += T) {
        const float4 u = joined<S>(A[i], A[i + 1]), v = joined<S>(B[i], B[i + 1]);
        ((float4*)c)[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
    }
    const int tail = max(vectors - 1, 1) * 4 + t;
    if (tail < n) c[tail] = a[tail] + b[tail];
}
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int t = blockIdx.x * 256 + threadIdx.x, T = gridDim.x * 256;
    const int sa = (int)((uintptr_t)a >> 2 & 3), sb = (int)((uintptr_t)b >> 2 & 3), sc = (int)((uintptr_t)c >> 2 & 3);
    if (sc == 0 && sa == sb) {
        if (sa == 0) {
            for (int i = t; i < n / 4; i += T) {
                const float4 u = ((const float4*)a)[i], v = ((const float4*)b)[i];
                ((float4*)c)[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
            }
            const int tail = (n & ~3) + t;
            if (tail < n) c[tail] = a[tail] + b[tail];
        } else if (sa == 1) shifted<1>(a, b, c, n, t, T);
        else if (sa == 2) shifted<2>(a, b, c, n, t, T);
        else shifted<3>(a, b, c, n, t, T);
    } else
        for (int i = t; i < n; i += T) c[i] = a[i] + b[i];
}
