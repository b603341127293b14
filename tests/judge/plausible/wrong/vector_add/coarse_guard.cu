// grid: ceil(n/1024)
// block: 256
// fault: tail of a tile
// kinds: wrong_result
// Four elements per thread, a block's width apart; the last tile does only its first quarter unless it is full.
template <int PER> __device__ void tile(const float* a, const float* b, float* c, int first, int n)
{
    if (first + (PER - 1) * 256 < n) {
        #pragma unroll
        for (int k = 0; k < PER; ++k) c[first + k * 256] = a[first + k * 256] + b[first + k * 256];
    } else if (first < n) {
        c[first] = a[first] + b[first];
    }
}
extern "C" __global__ void add_coarse(const float* a, const float* b, float* c, int n)
{
    tile<4>(a, b, c, blockIdx.x * 1024 + threadIdx.x, n);
}
