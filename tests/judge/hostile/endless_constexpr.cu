// A constant that takes for ever to work out.
//
// block: 64
// grid: ceil(n/64)
// expect: compile_error

__device__ constexpr long spin()
{
    long i = 0;
    while (true) i = i * 3 + 1;
    return i;
}
__global__ void k(const float* x, float* y, int n)
{
    constexpr long s = spin();
    y[0] = s;
}
