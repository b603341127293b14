// expect: deadlock
extern "C" __global__ void k(int* out, const int* in, int n)
{
    const int t = threadIdx.x;
#ifdef RIGHT
    asm volatile("bar.sync 1, 64;");
#else
    if (t < 32)
        asm volatile("bar.sync 1, 64;");  // <- here
    else
        asm volatile("bar.sync 2, 64;");
#endif
    out[t] = in[t];
}
