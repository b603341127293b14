// The index travels through float shuffles and shared memory by the 2^23 trick (an integer below 2^23 is a float's mantissa).
// Wrong for n > 2^23: the largest element at i = 8,388,608 = 2^23 comes out as index 0.
// grid: 1
// block: 1024
// fault: magic float index
// kinds: wrong_result
struct Pair { float v, i; };
__device__ bool better(Pair a, Pair b)
{
    bool an = a.v != a.v, bn = b.v != b.v;
    if (an || bn) return an && (!bn || a.i < b.i);
    return a.v > b.v || (a.v == b.v && a.i < b.i);
}
__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ Pair p[1024];
    Pair mine = {-INFINITY, __int_as_float(0x4b000000 | 0x7fffff)};
    for (int i = threadIdx.x; i < n; i += 1024) {
        Pair c = {x[i], __int_as_float(0x4b000000 | (i & 0x7fffff))};
        if (better(c, mine)) mine = c;
    }
    p[threadIdx.x] = mine;
    __syncthreads();
    for (int s = 512; s > 0; s /= 2) {
        if (threadIdx.x < s && better(p[threadIdx.x + s], p[threadIdx.x])) p[threadIdx.x] = p[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) best[0] = __float_as_int(p[0].i) & 0x7fffff;
}
