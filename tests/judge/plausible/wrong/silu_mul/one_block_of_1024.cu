// grid: N
// block: 1024
// fault: fixed count
// kinds: wrong_result
// A thread per column and one block per row: columns from the 1,025th on stay unwritten.
#include <cuda_fp16.h>
__global__ void silu(const __half* gate_up, __half* out, int N, int H)
{
    int c = threadIdx.x, r = blockIdx.x;
    if (c < H) {
        float g = __half2float(gate_up[2 * r * H + c]);
        out[r * H + c] = __float2half(__half2float(gate_up[2 * r * H + c + H]) * g / (1 + expf(-g)));
    }
}
