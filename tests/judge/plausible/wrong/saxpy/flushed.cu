// grid: ceil(n/256)
// block: 256
// fault: denormals
// kinds: wrong_result
// fma.rn.ftz: products and sums below 1.2e-38 become 0.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float r;
    asm("fma.rn.ftz.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(x[i]), "f"(y[i]));
    y[i] = r;
}
