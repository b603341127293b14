// grid: max(1, min(ceil(rows/4), 2*SMS))
// block: 32 4
#include <math_constants.h>
__device__ float top(float a, float b) { return a != a || b != b ? CUDART_NAN_F : fmaxf(a, b); }
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    __shared__ float stage[4][1024];
    const int lane = threadIdx.x;
    float* s = stage[threadIdx.y];
    // rows that go through shared memory: of a length that fits, where each warp has several
    const int several = columns <= 1024 ? min(rows / (16 * (int)gridDim.x), columns >> 8) : 0;
    for (int row = blockIdx.x * 4 + threadIdx.y; row < rows; row += gridDim.x * 4) {
        const float* p = x + (size_t)row * columns;
        float* q = y + (size_t)row * columns;
        float m = -CUDART_INF_F, t = 0;
        if (several) {
            for (int i = lane; i < columns; i += 32) s[i] = p[i];
            __syncwarp();
            // a stretch of each lane
            const int each = (columns + 31) / 32, first = lane * each, last = min(first + each, columns);
            for (int i = first; i < last; i++) m = top(m, s[i]);
            for (int o = 16; o; o >>= 1) m = top(m, __shfl_xor_sync(~0u, m, o));
            __syncwarp();
            for (int i = first; i < last; i++) { const float e = expf(s[i] - m); s[i] = e; t += e; }
            for (int o = 16; o; o >>= 1) t += __shfl_xor_sync(~0u, t, o);
            __syncwarp();
            for (int i = lane; i < columns; i += 32) q[i] = s[i] / t;
            __syncwarp();
        } else {
            for (int i = lane; i < columns; i += 32) m = top(m, p[i]);
            for (int o = 16; o; o >>= 1) m = top(m, __shfl_xor_sync(~0u, m, o));
            for (int i = lane; i < columns; i += 32) t += expf(p[i] - m);
            for (int o = 16; o; o >>= 1) t += __shfl_xor_sync(~0u, t, o);
            for (int i = lane; i < columns; i += 32) q[i] = expf(p[i] - m) / t;
        }
    }
}
