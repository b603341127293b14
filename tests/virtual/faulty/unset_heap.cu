// expect: uninitialised_read
extern "C" __global__ void k(int* out, const int* in, int n)
{
    int* own = static_cast<int*>(malloc(8 * sizeof(int)));
    for (int i = 0; i < n; ++i) own[i] = i;
#ifdef RIGHT
    const int at = in[threadIdx.x] % n;
#else
    const int at = in[threadIdx.x] % 8;
#endif
    out[threadIdx.x] = own[at];  // <- here
    free(own);
}
