// grid: ceil(n/256)
// block: 256
// fault: infinities
// kinds: wrong_result
// Clamps the sum to the largest float "for safety": infinities become 3.4e38 and NaN becomes a number.
#include <float.h>
__global__ void safe_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = fminf(fmaxf(a[i] + b[i], -FLT_MAX), FLT_MAX);
}
