// right: inline PTX with predicates
// grid: ceil(n/128)
// block: 128
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    asm volatile("{ .reg .pred p; .reg .f32 u, v; .reg .u64 s, d, o;\n"
                 "setp.lt.s32 p, %0, %1; mul.wide.s32 o, %0, 4; add.u64 s, %2, o; add.u64 d, %3, o;\n"
                 "@p ld.global.f32 u, [s]; @p ld.global.f32 v, [d];\n"
                 "@p fma.rn.f32 v, %4, u, v; @p st.global.f32 [d], v; }"
                 :: "r"(i), "r"(n), "l"(x), "l"(y), "f"(a) : "memory");
}
