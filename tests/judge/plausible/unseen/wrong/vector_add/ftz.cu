// grid: ceil(n/256)
// block: 256
// fault: numerics: denormals
// kinds: wrong_result
// Packed fast add taken from a fast-math kernel: add.ftz flushes denormal inputs and sums to zero.
__device__ __forceinline__ float fast_add(float a, float b)
{
    float r;
    asm("add.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}

__global__ void vector_add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = fast_add(a[i], b[i]);
}
