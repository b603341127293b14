// 04 vectorised: a grid sized to the GPU; each thread adds up many elements, 16 bytes a load, four loads at a time.
//
// Moves: atomics, from n / 256 to at most 4 per multiprocessor; load instructions, to 1/4; bytes on their way per
//   thread, from 4 to 64. What is left is the time to read x once.
// Mapping: thread g of G in the grid -> float4 number g, g + G, g + 2G ..., four of them per step in four separate
//   sums. The last n % 4 elements, and arrays that do not start on a 16-byte boundary, are read float by float.
//
// entry: sum_vectorised
// block: 512
// grid: min(ceil(n/8192), 4*SMS)

constexpr int THREADS = 512;
constexpr int WARPS = THREADS / 32;
constexpr int UNROLL = 4;  // loads on their way per thread
constexpr unsigned int ALL_LANES = 0xffffffffu;

__device__ __forceinline__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(ALL_LANES, value, offset);
    return value;  // complete in lane 0
}

__device__ __forceinline__ float sum4(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

extern "C" __global__ void __launch_bounds__(THREADS) sum_vectorised(const float* __restrict__ x, float* total, int n)
{
    __shared__ float warp_sums[WARPS];

    const int t = threadIdx.x;
    const long long first = (long long)blockIdx.x * THREADS + t;
    const long long stride = (long long)gridDim.x * THREADS;
    const long long groups = ((size_t)x & 15) == 0 ? n / 4 : 0;  // elements that can be read as float4
    const float4* x4 = reinterpret_cast<const float4*>(x);

    float sums[UNROLL] = {};
    long long g = first;
    for (; g + (UNROLL - 1) * stride < groups; g += UNROLL * stride) {
        float4 v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) v[u] = x4[g + u * stride];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) sums[u] += sum4(v[u]);
    }
    for (; g < groups; g += stride) sums[0] += sum4(x4[g]);
    for (long long i = 4 * groups + first; i < n; i += stride) sums[0] += x[i];

    const float sum = warp_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
    if (t % 32 == 0) warp_sums[t / 32] = sum;
    __syncthreads();

    if (t < 32) {
        const float block_sum = warp_sum(t < WARPS ? warp_sums[t] : 0.0f);
        if (t == 0) atomicAdd(total, block_sum);
    }
}
