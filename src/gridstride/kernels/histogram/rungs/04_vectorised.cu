// 04 vectorised: 16 bytes a load, four loads at a time.
//
// Moves: load instructions, to 1/4; bytes on their way per thread, from 4 to 64.
// Mapping: thread g of G in the grid -> float4 number g, g + G, g + 2G ..., four of them per step; bins as in 03. The
//   last n % 4 elements, and arrays that do not start on a 16-byte boundary, are read float by float.
//
// entry: histogram_vectorised
// block: 256
// grid: min(ceil(n/4096), 4*SMS)

constexpr int BINS = 256;
constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int UNROLL = 4;  // loads on their way per thread

__device__ __forceinline__ void count(int* bins, float v)
{
    if (v >= -4.0f && v < 4.0f) atomicAdd(&bins[(int)floorf(32.0f * v) + 128], 1);
}

__device__ __forceinline__ void count4(int* bins, float4 v)
{
    count(bins, v.x);
    count(bins, v.y);
    count(bins, v.z);
    count(bins, v.w);
}

extern "C" __global__ void __launch_bounds__(THREADS)
histogram_vectorised(const float* __restrict__ x, int* counts, int n)
{
    __shared__ int bins[WARPS][BINS];

    const int t = threadIdx.x;
    for (int w = 0; w < WARPS; ++w) bins[w][t] = 0;
    __syncthreads();

    int* own = bins[t / 32];
    const long long first = (long long)blockIdx.x * THREADS + t, stride = (long long)gridDim.x * THREADS;
    const long long groups = ((size_t)x & 15) == 0 ? n / 4 : 0;  // elements that can be read as float4
    const float4* x4 = reinterpret_cast<const float4*>(x);

    long long g = first;
    for (; g + (UNROLL - 1) * stride < groups; g += UNROLL * stride) {
        float4 v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) v[u] = x4[g + u * stride];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) count4(own, v[u]);
    }
    for (; g < groups; g += stride) count4(own, x4[g]);
    for (long long i = 4 * groups + first; i < n; i += stride) count(own, x[i]);
    __syncthreads();

    int sum = 0;
    for (int w = 0; w < WARPS; ++w) sum += bins[w][t];
    if (sum) atomicAdd(&counts[t], sum);
}
