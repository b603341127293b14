// Finds out which lane, and which of its registers, holds each element of a 16 by 8 result: ones in one row of A and in
// one column of B make 16 of a single element, and whoever sees it says so.
//
// entry: owners
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

// A has ones in one row and B in one column: 16 appears where they meet, and nowhere else.
extern "C" __global__ void owners(int* lane_of, int* register_of, int* found)
{
    const int lane = threadIdx.x, group = lane / 4;
    for (int row = 0; row < 16; ++row) {
        for (int column = 0; column < 8; ++column) {
            __half2 a[4], b[2];
            for (int i = 0; i < 4; ++i) a[i] = __float2half2_rn(group + i % 2 * 8 == row);
            for (int i = 0; i < 2; ++i) b[i] = __float2half2_rn(group == column);
            float c[4] = {};
            mma(c, a, b);
            for (int i = 0; i < 4; ++i) {
                if (c[i] == 0.0f) continue;
                lane_of[row * 8 + column] = lane;
                register_of[row * 8 + column] = i;
                if (row == 5 && column == 6) found[0] = lane, found[1] = i;
                if (row == 11 && column == 5) found[2] = lane;
            }
        }
    }
}
