// expect: uninitialised_read
extern "C" __global__ void k(int* out, const int* in, int n)
{
    int own[8];
    const int t = threadIdx.x;
    for (int i = 0; i < n; ++i) own[i] = in[i];
#ifdef RIGHT
    const int at = in[t] % n;
#else
    const int at = in[t] % 8;
#endif
    out[t] = own[at];  // <- here
}
