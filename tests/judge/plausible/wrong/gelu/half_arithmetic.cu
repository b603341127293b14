// fault: the cube is formed in half precision
// kinds: wrong_result
// grid: ceil(n/128)
// block: 128
#include <cuda_fp16.h>
__global__ void gelu(const float* x, float* y, long long n)
{
    long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= n) return;
    __half h = __float2half(x[i]);
    float cube = __half2float(__hmul(__hmul(h, h), h));
    y[i] = 0.5f * x[i] * (1 + tanhf(0.7978845608f * (x[i] + 0.044715f * cube)));
}
