// grid: ceil(N*H/256)
// block: 256
// fault: two kinds of data
// kinds: wrong_result
// Gates below -60 (finite) give 0 without a look at up: up = NaN must give NaN, Inf gives -Inf.
#include <cuda_fp16.h>
__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= (long long)N * H) return;
    long long row = i / H, c = i % H;
    float g = __half2float(gate_up[row * 2 * H + c]), u = __half2float(gate_up[row * 2 * H + H + c]);
    float y = g / (1.f + expf(-g)) * u;
    if (g < -60.f && !isinf(g)) y = -0.f;
    out[i] = __float2half(y);
}
