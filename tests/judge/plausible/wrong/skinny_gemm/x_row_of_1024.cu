// grid: ceil(N/128) M
// block: 128
// fault: fixed count
// kinds: out_of_bounds race
// A row of x is kept in a shared array of 1,024: more than 32 steps run over it.
#include <cuda_fp16.h>
__global__ void linear_staged(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    __shared__ float row[1024];
    const int K = 32 * steps, m = blockIdx.y, n = blockIdx.x * 128 + threadIdx.x;
    for (int k = threadIdx.x; k < K; k += 128) row[k] = __half2float(x[(size_t)m * K + k]);
    __syncthreads();
    if (n >= N) return;
    float s = __half2float(bias[n]);
    for (int k = 0; k < K; ++k) s += row[k] * __half2float(weight[(size_t)n * K + k]);
    y[(size_t)m * N + n] = __float2half(s);
}
