// 03 vectorised: 16 bytes a load, four on their way; floats are compared, and keys are made for a new best alone.
//
// Moves: bytes on their way per thread, from 4 to 64; instructions per element, from some ten to two.
// Mapping: thread g of G in the grid -> float4 number g, g + G and so on, four of them per step. The last n % 4
//   elements, and arrays that do not start on a 16-byte boundary, are read float by float.
//
// entry: argmax_vectorised
// block: 512
// grid: min(ceil(n/8192), 4*SMS)

typedef unsigned long long Key;
constexpr unsigned int ALL_ONES = 0xffffffffu;
constexpr int THREADS = 512;
constexpr int MOST = 2048;          // blocks: four for each multiprocessor of any chip
constexpr int UNROLL = 4;           // loads on their way per thread

// An element and where it is as one number: of larger elements a larger one, of equal ones that of the lower index.
__device__ __forceinline__ Key key_of(float value, unsigned int index)
{
    if (value != value) return (Key)ALL_ONES << 32 | ~index;  // a NaN, of either sign
    const unsigned int bits = __float_as_uint(value + 0.0f);  // -0 becomes 0
    const unsigned int ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
    return (Key)ordered << 32 | ~index;
}

__device__ Key found[MOST];         // the best of each block
__device__ unsigned int finished;   // blocks; the last one of a launch sets it back

// The best of a block, in its first thread.
__device__ __forceinline__ Key block_best(Key key)
{
    __shared__ Key of_warps[THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2) key = max(key, __shfl_xor_sync(ALL_ONES, key, offset));
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = key;
    __syncthreads();
    key = threadIdx.x < THREADS / 32 ? of_warps[threadIdx.x] : 0;
    for (int offset = 16; offset > 0; offset /= 2) key = max(key, __shfl_xor_sync(ALL_ONES, key, offset));
    __syncthreads();  // the places are free again
    return key;
}

// The block that finishes last has what all have found. Two launches at a time, on two streams, would share the count.
__device__ __forceinline__ void finish(Key key, long long* best)
{
    __shared__ bool last;
    key = block_best(key);
    if (threadIdx.x == 0) {
        found[blockIdx.x] = key;
        __threadfence();
        last = atomicAdd(&finished, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    key = 0;
    for (int b = threadIdx.x; b < gridDim.x; b += THREADS) key = max(key, __ldcg(&found[b]));
    key = block_best(key);
    if (threadIdx.x == 0) {
        best[0] = ~(unsigned int)key;
        finished = 0;
    }
}

struct Best {
    Key key = 0;
    float value = -INFINITY;  // the key's, NaN where it is that: then nothing is better

    // A thread meets its elements from the lowest index on: an equal one is no better.
    __device__ __forceinline__ void meet(float x, unsigned int index)
    {
        if (x <= value || value != value) {
            if (key) return;  // not the first one, which may be -Inf
        }
        key = key_of(x, index);
        value = x;
    }
};

extern "C" __global__ void __launch_bounds__(THREADS) argmax_vectorised(const float* __restrict__ x, long long* best,
                                                                        int n)
{
    const long long first = (long long)blockIdx.x * THREADS + threadIdx.x;
    const long long stride = (long long)gridDim.x * THREADS;
    const long long groups = ((size_t)x & 15) == 0 ? n / 4 : 0;  // elements that can be read as float4
    const float4* x4 = reinterpret_cast<const float4*>(x);

    Best mine;
    const auto meet4 = [&](float4 v, long long g) {
        const unsigned int i = (unsigned int)(4 * g);
        mine.meet(v.x, i), mine.meet(v.y, i + 1), mine.meet(v.z, i + 2), mine.meet(v.w, i + 3);
    };
    long long g = first;
    for (; g + (UNROLL - 1) * stride < groups; g += UNROLL * stride) {
        float4 v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) v[u] = x4[g + u * stride];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) meet4(v[u], g + u * stride);
    }
    for (; g < groups; g += stride) meet4(x4[g], g);
    for (long long i = 4 * groups + first; i < n; i += stride) mine.meet(x[i], (unsigned int)i);
    finish(mine.key, best);
}
