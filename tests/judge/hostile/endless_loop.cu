// Never ends.
//
// block: 64
// grid: ceil(n/64)
// expect: timeout

__global__ void k(const float* x, float* y, int n)
{
    volatile int go = 1;
    while (go) {}
}
