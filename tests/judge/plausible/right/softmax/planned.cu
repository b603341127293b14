// grid: max(rows, 1)
// block: 256
#include <math_constants.h>
__device__ float block_max(float v, float* s)
{
    for (int o = 16; o; o >>= 1) { float w = __shfl_xor_sync(~0u, v, o); v = (v != v || w != w) ? CUDART_NAN_F : fmaxf(v, w); }
    if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = v;
    __syncthreads();
    v = s[0];
    for (int i = 1; i < 8; i++) { float w = s[i]; v = (v != v || w != w) ? CUDART_NAN_F : fmaxf(v, w); }
    __syncthreads();
    return v;
}
__device__ float block_sum(float v, float* s)
{
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = v;
    __syncthreads();
    v = 0;
    for (int i = 0; i < 8; i++) v += s[i];
    __syncthreads();
    return v;
}
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    __shared__ float s[8];
    __shared__ int cached;
    const int row = blockIdx.x;
    if (row >= rows) return;
    if (threadIdx.x == 0) cached = columns <= 4096 ? (rows / 64) * (columns / 2048) : 0;
    __syncthreads();
    x += (size_t)row * columns;
    y += (size_t)row * columns;
    if (cached) {  // a row is kept in registers, and read once
        float v[16];
        float m = -CUDART_INF_F;
        for (int j = 0; j < 16; j++) {
            const int i = threadIdx.x + j * 256;
            v[j] = i < columns ? x[i] : -CUDART_INF_F;
            m = (m != m || v[j] != v[j]) ? CUDART_NAN_F : fmaxf(m, v[j]);
        }
        m = block_max(m, s);
        float t = 0;
        for (int j = 0; j < 16; j++) { v[j] = expf(v[j] - m); t += v[j]; }
        t = block_sum(t, s);
        for (int j = 0; j < 16; j++) {
            const int i = threadIdx.x + j * 256;
            if (i < columns) y[i] = v[j] / t;
        }
    } else {
        float m = -CUDART_INF_F;
        for (int i = threadIdx.x; i < columns; i += 256) { const float v = x[i]; m = (m != m || v != v) ? CUDART_NAN_F : fmaxf(m, v); }
        m = block_max(m, s);
        float t = 0;
        for (int i = threadIdx.x; i < columns; i += 256) t += expf(x[i] - m);
        t = block_sum(t, s);
        for (int i = threadIdx.x; i < columns; i += 256) y[i] = expf(x[i] - m) / t;
    }
}
