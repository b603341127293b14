// grid: N
// block: 256
// fault: fixed count
// kinds: out_of_bounds race
// Gates and ups of a row are staged in room for 2 x 1,024.
#include <cuda_fp16.h>
__global__ void silu_staged(const __half* gate_up, __half* out, int N, int H)
{
    __shared__ __half row[2048];
    for (int i = threadIdx.x; i < 2 * H; i += 256) row[i] = gate_up[(size_t)blockIdx.x * 2 * H + i];
    __syncthreads();
    for (int i = threadIdx.x; i < H; i += 256) {
        float g = __half2float(row[i]);
        out[(size_t)blockIdx.x * H + i] = __float2half(g / (1 + expf(-g)) * __half2float(row[H + i]));
    }
}
