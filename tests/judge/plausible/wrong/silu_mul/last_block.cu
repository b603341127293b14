// grid: max(1,H//256) N
// block: 256
// fault: tail of a block
// kinds: wrong_result
// Blocks rounded down: the last H % 256 columns are left where H is above 256.
#include <cuda_fp16.h>
__global__ void silu(const __half* gate_up, __half* out, int N, int H)
{
    int c = blockIdx.x * 256 + threadIdx.x;
    if (c >= H) return;
    const __half* row = gate_up + (size_t)blockIdx.y * 2 * H;
    float g = __half2float(row[c]);
    out[(size_t)blockIdx.y * H + c] = __float2half(g / (1 + expf(-g)) * __half2float(row[c + H]));
}
