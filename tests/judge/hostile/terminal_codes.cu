// Prints what a terminal obeys.
//
// block: 64
// grid: ceil(n/64)
// expect: wrong_result

#include <cstdio>
__global__ void k(const float* x, float* y, int n)
{
    printf("\033]0;owned\007\033[2J");
}
