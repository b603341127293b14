// A warp multiplies 16 by 16 with 16 by 8, all row by row in memory, and stores its sums from registers.
//
// entry: one_tile
// block: 32
// grid: 1

#include <cuda_fp16.h>

__device__ void mma(
    float (&c)[4], const __half2 (&a)[4], const __half2 (&b)[2])
{
    const unsigned *ra = reinterpret_cast<const unsigned*>(a);
    const unsigned *rb = reinterpret_cast<const unsigned*>(b);
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]),
          "r"(rb[0]), "r"(rb[1]));
}

extern "C" __global__ void one_tile(const __half* A, const __half* B, float* C)
{
    const int group = threadIdx.x / 4, place = threadIdx.x % 4;
    __half2 a[4], b[2];
    for (int i = 0; i < 4; ++i) {
        const int row = group + i % 2 * 8, k = 2 * place + i / 2 * 8;
        a[i] = __halves2half2(A[row * 16 + k], A[row * 16 + k + 1]);
    }
    for (int i = 0; i < 2; ++i) {
        const int k = 2 * place + i * 8;
        b[i] = __halves2half2(B[k * 8 + group], B[(k + 1) * 8 + group]);
    }
    float c[4] = {};
    mma(c, a, b);
    for (int i = 0; i < 4; ++i) {
        C[(group + i / 2 * 8) * 8 + 2 * place + i % 2] = c[i];
    }
}
