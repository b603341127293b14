// expect: out_of_bounds
extern "C" __global__ void k(int* out, const int* in, int n)
{
    const int t = threadIdx.x;
#ifdef RIGHT
    out[t] = in[t];
#else
    out[t] = in[t * 20];  // <- here
#endif
}
