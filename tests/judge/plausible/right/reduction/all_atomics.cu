// grid: 3*ceil(n/1000)
// block: 1000
// Every thread adds its own element, by red.global in PTX; two of three blocks have nothing to do.
__global__ void sum_red(const float* x, float* total, int n)
{
    const long long i = (blockIdx.x - 7LL % gridDim.x + gridDim.x) % gridDim.x * 1000LL + threadIdx.x;
    if (i < n) asm volatile("red.global.add.f32 [%0], %1;" :: "l"(total), "f"(x[i]) : "memory");
}
