// grid: ceil(N*H/256)
// block: 256
// fault: layout
// kinds: wrong_result
// Takes all gates first and all ups behind them: right for one row.

#include <cuda_fp16.h>

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const long long i = blockIdx.x * 256LL + threadIdx.x, all = (long long)N * H;
    if (i >= all) return;
    const float g = __half2float(gate_up[i]);
    out[i] = __float2half(g / (1.0f + __expf(-g)) * __half2float(gate_up[all + i]));
}
