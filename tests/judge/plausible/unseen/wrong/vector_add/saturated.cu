// grid: ceil(n/256)
// block: 256
// fault: values
// kinds: wrong_result
// Sums are held between the largest floats: 3e38 + 3e38 and Inf + 1 give 3.4e38 and not Inf, and NaN becomes a number.

#include <cfloat>

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float sum = a[i] + b[i];
    c[i] = fminf(fmaxf(sum, -FLT_MAX), FLT_MAX);
}
