// grid: ceil(n/64)
// block: 64
// Floats are taken apart and put together as a struct of two halves: no alignment beyond a float's is used.
struct Halves { unsigned short low, high; };
__device__ float joined(Halves h) { return __uint_as_float((unsigned)h.high << 16 | h.low); }
__global__ void saxpy_halves(int n, float a, const Halves* x, Halves* y)
{
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n) return;
    const unsigned r = __float_as_uint(fmaf(a, joined(x[i]), joined(y[i])));
    y[i] = Halves{(unsigned short)r, (unsigned short)(r >> 16)};
}
