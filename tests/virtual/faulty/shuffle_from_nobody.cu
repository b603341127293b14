// expect: inactive_lane
// block: 48
extern "C" __global__ void k(int* out, const int* in, int n)
{
    int sum = in[threadIdx.x];
#ifdef RIGHT
    for (int far = 8; far > 0; far /= 2)
#else
    for (int far = 16; far > 0; far /= 2)
#endif
        sum += __shfl_down_sync(0xffffffff, sum, far);  // <- here
    if (threadIdx.x == 32) out[0] = sum;
}
