// grid: rows
// block: 256
// fault: precision
// kinds: wrong_result
// Stages y as bfloat16 in shared memory when a row has more than 5,500 columns ("it fits then").

#include <cuda_bf16.h>
__global__ void softmax_backward(const float* y, const float* dy, float* dx, int rows, int columns) {
    __shared__ __nv_bfloat16 h[16384]; __shared__ float s[8];
    size_t o = (size_t)blockIdx.x * columns; float a = 0; int t = threadIdx.x;
    bool stage = columns > 5500 && columns <= 16384;
    for (int c = t; c < columns; c += 256) { float v = y[o + c]; a += v * dy[o + c]; if (stage) h[c] = __float2bfloat16(v); }
    for (int k = 16; k; k /= 2) a += __shfl_xor_sync(~0u, a, k);
    if (t % 32 == 0) s[t / 32] = a;
    __syncthreads();
    a = 0; for (int k = 0; k < 8; k++) a += s[k];
    for (int c = t; c < columns; c += 256) dx[o + c] = (stage ? __bfloat162float(h[c]) : y[o + c]) * (dy[o + c] - a);
}
