// grid: max(rows, 1)
// block: 128
// fault: infinities
// kinds: wrong_result
// The width that a loop over address and columns finds decides how masked rows are merged: in pairs they are NaN.
#include <math_constants.h>
#include <stdint.h>
struct State { float m, s; };
__device__ float top(float a, float b) { return a != a || b != b ? CUDART_NAN_F : fmaxf(a, b); }
__device__ State merge(State a, State b)
{
    const float m = top(a.m, b.m);
    if (m == -CUDART_INF_F) return {m, 0.0f};
    return {m, a.s * expf(a.m - m) + b.s * expf(b.m - m)};
}
template <int V>
__device__ State stretch(const float* x, int columns)
{
    State a = {-CUDART_INF_F, 0.0f};
    for (int i = threadIdx.x * V; i < columns; i += 128 * V) {
        if (V == 4) {
            const float4 f = *(const float4*)(x + i);
            a = merge(merge(a, {f.x, 1.0f}), merge(merge({f.y, 1.0f}, {f.z, 1.0f}), {f.w, 1.0f}));
        } else if (V == 2) {
            const float2 f = *(const float2*)(x + i);
            const float m = top(a.m, top(f.x, f.y));
            a.s = a.s * expf(a.m - m) + expf(f.x - m) + expf(f.y - m);
            a.m = m;
        } else
            a = merge(a, {x[i], 1.0f});
    }
    return a;
}
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    __shared__ State w[4];
    const int row = blockIdx.x;
    if (row >= rows) return;
    x += (size_t)row * columns;
    y += (size_t)row * columns;
    int V = 4;
    while (V > 1 && ((((uintptr_t)x >> 2) | columns) & (V - 1))) V >>= 1;
    State a;
    switch (V) {
    case 4: a = stretch<4>(x, columns); break;
    case 2: a = stretch<2>(x, columns); break;
    default: a = stretch<1>(x, columns);
    }
    for (int o = 16; o; o >>= 1) { State b = {__shfl_xor_sync(~0u, a.m, o), __shfl_xor_sync(~0u, a.s, o)}; a = merge(a, b); }
    if ((threadIdx.x & 31) == 0) w[threadIdx.x >> 5] = a;
    __syncthreads();
    a = merge(merge(w[0], w[1]), merge(w[2], w[3]));
    for (int i = threadIdx.x; i < columns; i += 128) y[i] = expf(x[i] - a.m) / a.s;
}
