// grid: ceil(n/256)
// block: 256
// fault: wrong formula
// kinds: wrong_result
// Fma.rn.ftz flushes denormal operands and results to zero: wrong for data below the smallest normal float.

__device__ __forceinline__ float multiply_add(float a, float x, float y)
{
    float r;
    asm("fma.rn.ftz.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(x), "f"(y));
    return r;
}

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = multiply_add(a, x[i], y[i]);
}
