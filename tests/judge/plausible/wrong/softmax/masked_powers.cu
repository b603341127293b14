// grid: max(rows, 1)
// block: 256
// fault: infinities
// kinds: wrong_result
// Columns that are a power of two are merged without a look at -Inf: masked rows are NaN.
#include <math_constants.h>
__device__ float top(float a, float b) { return a != a || b != b ? CUDART_NAN_F : fmaxf(a, b); }
struct State { float m, s; };
template <bool Power>
__device__ State merge(State a, State b)
{
    const float m = top(a.m, b.m);
    if (!Power && m == -CUDART_INF_F) return {m, 0.0f};
    return {m, a.s * expf(a.m - m) + b.s * expf(b.m - m)};
}
template <bool Power>
__device__ void run(const float* x, float* y, int columns)
{
    __shared__ State w[8];
    State a = {-CUDART_INF_F, 0.0f};
    if (Power) {
        a = {x[threadIdx.x], 1.0f};
        for (int i = threadIdx.x + 256; i < columns; i += 256) a = merge<true>(a, {x[i], 1.0f});
    } else
        for (int i = threadIdx.x; i < columns; i += 256) a = merge<false>(a, {x[i], 1.0f});
    for (int o = 16; o; o >>= 1) { State b = {__shfl_xor_sync(~0u, a.m, o), __shfl_xor_sync(~0u, a.s, o)}; a = merge<Power>(a, b); }
    if ((threadIdx.x & 31) == 0) w[threadIdx.x >> 5] = a;
    __syncthreads();
    a = w[0];
    for (int i = 1; i < 8; i++) a = merge<Power>(a, w[i]);
    for (int i = threadIdx.x; i < columns; i += 256) y[i] = expf(x[i] - a.m) / a.s;
}
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    const int row = blockIdx.x;
    if (row >= rows) return;
    x += (size_t)row * columns;
    y += (size_t)row * columns;
    int odd = columns, halvings = 0;
    while (odd && !(odd & 1)) { odd >>= 1; halvings++; }
    if (odd == 1 && halvings > 10) run<true>(x, y, columns);
    else run<false>(x, y, columns);
}
