// expect: race
extern "C" __global__ void k(int* out, const int* in, int n)
{
    __shared__ int row[64];
    const int t = threadIdx.x;
    row[t] = in[t];
#ifdef RIGHT
    __syncwarp();
#endif
    out[t] = row[t ^ 1];  // <- here
}
