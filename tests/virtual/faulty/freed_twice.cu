// expect: invalid_free
extern "C" __global__ void k(int* out, const int* in, int n)
{
    void* own = malloc(64);
    out[threadIdx.x] = own != nullptr;
    free(own);
#ifndef RIGHT
    if (n == 5) free(own);  // <- here
#endif
}
