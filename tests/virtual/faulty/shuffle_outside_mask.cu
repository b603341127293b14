// expect: inactive_lane
extern "C" __global__ void k(int* out, const int* in, int n)
{
    const int t = threadIdx.x;
    if (t < 16) {
#ifdef RIGHT
        const int from = 15 - t;
#else
        const int from = 16 + t;
#endif
        out[t] = __shfl_sync(0x0000ffff, in[t], from);  // <- here
    }
}
