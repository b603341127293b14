// expect: uninitialised_read
extern "C" __global__ void k(int* out, const int* in, int n)
{
    __shared__ int tile[64];
    const int t = threadIdx.x;
#ifdef RIGHT
    tile[t] = in[t];
#else
    if (t < 60) tile[t] = in[t];
#endif
    __syncthreads();
    out[t] = tile[63 - t];  // <- here
}
