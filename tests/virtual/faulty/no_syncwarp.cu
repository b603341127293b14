// expect: race
extern "C" __global__ void k(int* out, const int* in, int n)
{
    __shared__ volatile int sum[64];
    const int t = threadIdx.x;
    sum[t] = in[t];
    __syncthreads();
    if (t < 16) {
        int own = sum[t];
        for (int far = 16; far > 0; far /= 2) {
            own += sum[t + far];  // <- here
#ifdef RIGHT
            __syncwarp(0xffff);
#endif
            sum[t] = own;  // <- here
#ifdef RIGHT
            __syncwarp(0xffff);
#endif
        }
    }
    if (t == 0) out[0] = sum[0];
}
