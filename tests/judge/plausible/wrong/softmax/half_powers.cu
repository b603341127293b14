// fault: the exponentials are kept in shared memory as halves
// kinds: wrong_result launch
// grid: rows
// block: 128
// shared: 2*columns+64
#include <cuda_fp16.h>
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    extern __shared__ __half kept[];
    __shared__ float part[4];
    const size_t at = (size_t)blockIdx.x * columns;
    float m = -INFINITY, s = 0;
    for (int i = 0; i < columns; ++i) m = fmaxf(m, x[at + i]);
    for (int i = threadIdx.x; i < columns; i += 128) {
        const float e = __expf(x[at + i] - m);
        kept[i] = __float2half(e);
        s += e;
    }
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    s = part[0] + part[1] + part[2] + part[3];
    for (int i = threadIdx.x; i < columns; i += 128) y[at + i] = __half2float(kept[i]) / s;
}
