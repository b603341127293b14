// Prints without end.
//
// block: 64
// grid: ceil(n/64)
// expect: timeout

#include <cstdio>
__global__ void k(const float* x, float* y, int n)
{
    for (;;) printf("all work and no play %d\n", threadIdx.x);
}
