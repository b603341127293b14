// grid: 1 ceil(N*H/256)
// block: 256
// fault: launch
// kinds: launch
// Flattened along y: 16,384 rows of 8,192 need 524,288 blocks of 256.
#include <cuda_fp16.h>
__global__ void silu(const __half* gate_up, __half* out, int N, int H)
{
    long long i = (long long)blockIdx.y * 256 + threadIdx.x;
    if (i >= (long long)N * H) return;
    const __half* g = gate_up + i / H * 2 * H + i % H;
    float x = __half2float(*g);
    out[i] = __float2half(x / (1 + expf(-x)) * __half2float(g[H]));
}
