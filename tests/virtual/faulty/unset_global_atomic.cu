// expect: uninitialised_read
extern "C" __global__ void k(int* out, const int* in, int n)
{
#ifdef RIGHT
    if (threadIdx.x == 0) out[0] = 0;
    __syncthreads();
#endif
    atomicAdd(out, in[threadIdx.x]);  // <- here
}
