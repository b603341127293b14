// expect: member_mask
extern "C" __global__ void k(int* out, const int* in, int n)
{
    const int t = threadIdx.x;
    const unsigned members = __ballot_sync(0xffffffff, in[t] < n);
    if (in[t] < n)
#ifdef RIGHT
        out[t] = __popc(__ballot_sync(members, 1));
#else
        out[t] = __popc(__ballot_sync(0xffffffff, 1));  // <- here
#endif
    else
        out[t] = members;
}
