// Takes the heap until it is gone, and goes on.
//
// block: 64
// grid: ceil(n/64)
// expect: out_of_bounds timeout

__global__ void k(const float* x, float* y, int n)
{
    for (;;) {
        char* p = (char*)malloc(1 << 16);
        p[0] = 1;
    }
}
