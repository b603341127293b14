// expect: barrier_divergence
extern "C" __global__ void k(int* out, const int* in, int n)
{
    __shared__ int row[64];
    const int t = threadIdx.x;
    row[t] = in[t];
#ifdef RIGHT
    __syncthreads();
#else
    if (in[t] % 2) __syncthreads();  // <- here
#endif
    out[t] = row[t];
}
