// grid: ceil(N*H/256)
// block: 256
// fault: NaN and infinity
// kinds: wrong_result
// Where `up` is 0 the result is set to 0 and the gate not looked at: a NaN or Inf gate makes NaN there.
#include <cuda_fp16.h>
__global__ void silu(const __half* gate_up, __half* out, int N, int H)
{
    long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i >= (long long)N * H) return;
    long long row = i / H, col = i % H;
    float u = __half2float(gate_up[row * 2 * H + H + col]);
    if (u == 0.0f) { out[i] = __float2half(0.0f); return; }
    float g = __half2float(gate_up[row * 2 * H + col]);
    out[i] = __float2half(g / (1.0f + __expf(-g)) * u);
}
