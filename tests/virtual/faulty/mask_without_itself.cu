// expect: member_mask
extern "C" __global__ void k(int* out, const int* in, int n)
{
    const int t = threadIdx.x;
#ifdef RIGHT
    const unsigned mask = 0xffffffff;
#else
    const unsigned mask = 0x7fffffff;
#endif
    out[t] = __reduce_add_sync(mask, in[t]);  // <- here
}
