// grid: ceil(H/256) N
// block: 128
// fault: tail of 2
// kinds: misaligned wrong_result
// H / 2 pairs of each row: an odd H loses the last column, and the ups of all rows are misaligned.
#include <cuda_fp16.h>
__global__ void silu2(const __half* gate_up, __half* out, int N, int H)
{
    int p = blockIdx.x * 128 + threadIdx.x, r = blockIdx.y;
    if (p >= H / 2) return;
    float2 g = __half22float2(((const __half2*)(gate_up + (size_t)2 * r * H))[p]);
    float2 u = __half22float2(((const __half2*)(gate_up + (size_t)2 * r * H + H))[p]);
    g.x = g.x / (1 + __expf(-g.x)) * u.x;
    g.y = g.y / (1 + __expf(-g.y)) * u.y;
    ((__half2*)(out + (size_t)r * H))[p] = __float22half2_rn(g);
}
