// Writes to every address it can make.
//
// block: 64
// grid: ceil(n/64)
// expect: out_of_bounds

__global__ void k(const float* x, float* y, int n)
{
    for (unsigned long long a = 0x7f0000000000ull; a; a += 4096) *(volatile int*)a = 1;
}
