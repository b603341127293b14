// expect: deadlock
extern "C" __global__ void k(int* out, const int* in, int n)
{
#ifdef RIGHT
    asm volatile("bar.sync 1, 64;");
#else
    asm volatile("bar.sync 1, 96;");  // <- here
#endif
    out[threadIdx.x] = in[threadIdx.x];
}
