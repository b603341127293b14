// expect: race
extern "C" __global__ void k(int* out, const int* in, int n)
{
    __shared__ int row[64];
    const int t = threadIdx.x;
    row[t] = in[t];  // <- here
#ifdef RIGHT
    __syncthreads();
#endif
    out[t] = row[63 - t];  // <- here
}
