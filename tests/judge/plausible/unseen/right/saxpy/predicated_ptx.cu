// grid: ceil(n/96)
// block: 96
// All in inline PTX: loads, fused multiply-add and store under a predicate, blocks of 96.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    asm volatile(
        "{\n\t"
        ".reg .pred inside;\n\t"
        ".reg .f32 p, r;\n\t"
        "setp.lt.s32 inside, %0, %1;\n\t"
        "@inside ld.global.nc.f32 p, [%2];\n\t"
        "@inside ld.global.f32 r, [%3];\n\t"
        "@inside fma.rn.f32 r, p, %4, r;\n\t"
        "@inside st.global.f32 [%3], r;\n\t"
        "}"
        :: "r"(i), "r"(n), "l"(x + i), "l"(y + i), "f"(a) : "memory");
}
