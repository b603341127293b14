// expect: uninitialised_read
extern "C" __global__ void k(int* out, const int* in, int n)
{
    __shared__ int sum;
    const int t = threadIdx.x;
#ifdef RIGHT
    if (t == 0) sum = 0;
    __syncthreads();
#endif
    atomicAdd(&sum, in[t]);  // <- here
    __syncthreads();
    if (t == 0) out[0] = sum;
}
