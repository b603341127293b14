// expect: uninitialised_read
extern "C" __global__ void k(int* out, const int* in, int n)
{
    __shared__ int found;
    const int t = threadIdx.x;
#ifdef RIGHT
    if (t == 0) found = 0;
    __syncthreads();
#endif
    if (in[t] == 1000) found = n;
    __syncthreads();
    if (found == 7)  // <- here
        out[t] = 1;
    else
        out[t] = 2;
}
