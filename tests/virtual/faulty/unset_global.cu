// expect: uninitialised_read
extern "C" __global__ void k(int* out, const int* in, int n)
{
    const int t = threadIdx.x;
#ifdef RIGHT
    out[t] = 0;
#endif
    out[t] += in[t];  // <- here
}
