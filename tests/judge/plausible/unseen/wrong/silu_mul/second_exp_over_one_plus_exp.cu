// grid: ceil(N*H/256)
// block: 256
// fault: wrong formula
// kinds: wrong_result
// The sigmoid is exp(g) / (1 + exp(g)): Inf / Inf = NaN for gates above 88.8 (steep gates).

#include <cuda_fp16.h>

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * H) return;
    const size_t row = i / H, column = i % H;
    const float g = __half2float(gate_up[row * 2 * H + column]), u = __half2float(gate_up[row * 2 * H + H + column]);
    const float e = expf(g);
    out[i] = __float2half(g * (e / (1.0f + e)) * u);
}
