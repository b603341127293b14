// Recursion: a thread's slice is halved until eight elements are left; the depth is logarithmic.
// grid: 1
// block: 256
struct Best { float v; int i; };
__device__ bool wins(Best a, Best b)
{
    if (a.i < 0) return false;
    if (b.i < 0) return true;
    const bool an = isnan(a.v), bn = isnan(b.v);
    if (an != bn) return an;
    if (!an && a.v != b.v) return a.v > b.v;
    return a.i < b.i;
}
__device__ __noinline__ Best search(const float* x, int from, int to)
{
    if (to - from <= 8) {
        Best b = {0.0f, -1};
        for (int i = from; i < to; ++i) { const Best c = {x[i], i}; if (wins(c, b)) b = c; }
        return b;
    }
    const int middle = from + (to - from) / 2;
    const Best l = search(x, from, middle), r = search(x, middle, to);
    return wins(r, l) ? r : l;
}
__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ Best all[256];
    const long long slice = ((long long)n + 255) / 256;
    const int from = (int)min((long long)n, slice * threadIdx.x), to = (int)min((long long)n, slice * (threadIdx.x + 1));
    all[threadIdx.x] = search(x, from, to);
    __syncthreads();
    if (threadIdx.x == 0) {
        Best b = all[0];
        for (int k = 1; k < 256; ++k) if (wins(all[k], b)) b = all[k];
        *best = b.i;
    }
}
