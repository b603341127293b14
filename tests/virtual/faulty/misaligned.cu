// expect: misaligned
extern "C" __global__ void k(int* out, const int* in, int n)
{
#ifdef RIGHT
    out[threadIdx.x] = *reinterpret_cast<const int*>(reinterpret_cast<const char*>(in) + 4 * threadIdx.x);
#else
    out[threadIdx.x] = *reinterpret_cast<const int*>(reinterpret_cast<const char*>(in) + 2 * threadIdx.x);  // <- here
#endif
}
