// expect: use_after_free
extern "C" __global__ void k(int* out, const int* in, int n)
{
    int* own = static_cast<int*>(malloc(64));
    own[n] = in[threadIdx.x];
#ifdef RIGHT
    out[threadIdx.x] = own[n];
    free(own);
#else
    free(own);
    out[threadIdx.x] = own[n];  // <- here
#endif
}
