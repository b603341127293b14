// Waits for a block that can never come.
//
// block: 64
// grid: ceil(n/64)
// expect: deadlock

__device__ volatile int flag;
__global__ void k(const float* x, float* y, int n)
{
    while (flag == 0) {}
}
