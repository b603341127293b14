// grid: ceil(H/128) N
// block: 64
// fault: tail of a vector width
// kinds: misaligned wrong_result uninitialised_read
// Two halves at a time, H / 2 of them: an odd H leaves the last column unwritten, and its second row is not aligned to 4 bytes.

#include <cuda_fp16.h>

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const int i = blockIdx.x * 64 + threadIdx.x, pairs = H / 2;
    if (i >= pairs) return;
    const size_t row = blockIdx.y;
    const __half2* gates = reinterpret_cast<const __half2*>(gate_up + row * 2 * H);
    const __half2* ups = reinterpret_cast<const __half2*>(gate_up + row * 2 * H + H);
    const float2 g = __half22float2(gates[i]), u = __half22float2(ups[i]);
    reinterpret_cast<__half2*>(out + row * H)[i] = __floats2half2_rn(g.x / (1.0f + expf(-g.x)) * u.x, g.y / (1.0f + expf(-g.y)) * u.y);
}
