// grid: min(N,SMS)
// block: 128
// fault: device variable
// kinds: wrong_result unrepeatable
// Rows by ticket, and nobody sets the ticket back: the second launch finds no rows.
#include <cuda_fp16.h>
__device__ int next_row;
__global__ void silu(const __half* gate_up, __half* out, int N, int H)
{
    __shared__ int row;
    do {
        __syncthreads();
        if (threadIdx.x == 0) row = atomicAdd(&next_row, 1);
        __syncthreads();
        for (int c = threadIdx.x; row < N && c < H; c += 128) {
            const __half* g = gate_up + (size_t)row * 2 * H + c;
            float x = __half2float(*g);
            out[(size_t)row * H + c] = __float2half(x / (1 + expf(-x)) * __half2float(g[H]));
        }
    } while (row < N);
}
