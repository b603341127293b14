// grid: ceil(N/64) M 4
// block: 64
// fault: block order
// kinds: race wrong_result unrepeatable
// K in four parts; part 0 stores its sum with the bias, the others add theirs to y without any order between them.
#include <cuda_fp16.h>
__global__ void split(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    int n = blockIdx.x * 64 + threadIdx.x, m = blockIdx.y, K = 32 * steps, part = 32 * ((steps + 3) / 4);
    if (n >= N) return;
    float s = 0;
    for (int k = blockIdx.z * part; k < min(K, (int)(blockIdx.z + 1) * part); ++k)
        s += __half2float(x[(size_t)m * K + k]) * __half2float(weight[(size_t)n * K + k]);
    __half* to = &y[(size_t)m * N + n];
    if (blockIdx.z == 0)
        *to = __float2half(s + __half2float(bias[n]));
    else if ((int)blockIdx.z * part < K)
        atomicAdd(to, __float2half(s));
}
