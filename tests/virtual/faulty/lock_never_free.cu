// expect: deadlock
extern "C" __global__ void k(int* out, const int* in, int n)
{
    __shared__ int lock;
    if (threadIdx.x == 0) lock = 0;
    __syncthreads();
    while (atomicCAS(&lock, 0, 1) != 0) {}  // <- here
    out[0] = in[threadIdx.x];
#ifdef RIGHT
    __threadfence();
    atomicExch(&lock, 0);
#endif
}
