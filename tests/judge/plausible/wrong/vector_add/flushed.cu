// grid: ceil(n/128)
// block: 128
// fault: denormals
// kinds: wrong_result
// add.ftz takes denormal operands for 0: a + b of numbers below 1.2e-38 is lost.
__device__ __forceinline__ float fast_add(float x, float y)
{
    float z;
    asm("add.ftz.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
    return z;
}
extern "C" __global__ void add_ftz(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = fast_add(a[i], b[i]);
}
