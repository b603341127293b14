// grid: ceil(n/33)
// block: 33
//
// Inline PTX: predicated loads and a store in one asm block, 33 threads a block.

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * 33 + threadIdx.x;
    const float *pa = a + i, *pb = b + i;
    float* pc = c + i;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        ".reg .f32 x, y;\n"
        "setp.lt.s32 p, %3, %4;\n"
        "@p ld.global.f32 x, [%0];\n"
        "@p ld.global.f32 y, [%1];\n"
        "@p add.rn.f32 x, x, y;\n"
        "@p st.global.f32 [%2], x;\n"
        "}\n" ::"l"(pa), "l"(pb), "l"(pc), "r"(i), "r"(n)
        : "memory");
}
