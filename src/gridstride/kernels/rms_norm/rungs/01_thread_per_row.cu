// 01 thread per row: one thread adds, squares and scales a whole row.
//
// Moves: nothing yet. Neighbouring lanes read elements a row apart, so every request touches 32 sectors.
// Mapping: thread t of block b -> row b * 32 + t.
//
// entry: rms_norm_thread_per_row
// block: 32
// grid: ceil(N/32)

#include <cuda_fp16.h>

extern "C" __global__ void rms_norm_thread_per_row(
    __half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    float squares = 0.0f;
    for (int i = row * W; i < row * W + W; ++i) {
        const float x = __half2float(residual[i]) + __half2float(delta[i]);
        residual[i] = __float2half(x);
        squares += x * x;
    }
    const float scale = rsqrtf(squares / W + eps);
    for (int i = 0; i < W; ++i)
        out[row * W + i] = __float2half(__half2float(residual[row * W + i]) * scale * __half2float(weight[i]));
}
