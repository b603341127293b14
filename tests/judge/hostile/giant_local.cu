// Local memory of gigabytes in each thread.
//
// block: 1024
// grid: 64
// expect: out_of_memory fault launch compile_error stack_overflow timeout unsupported

__global__ void k(const float* x, float* y, int n)
{
    volatile char mine[1 << 28];
    for (int i = 0; i < 1 << 28; i += 64) mine[i] = i;
    y[0] = mine[n];
}
