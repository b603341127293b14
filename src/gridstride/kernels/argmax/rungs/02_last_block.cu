// 02 last block: all multiprocessors look; the block that finishes last compares what they have found.
//
// Moves: bytes on their way, times the number of multiprocessors; barriers per block, to a few.
// Mapping: thread g of G in the grid -> elements g, g + G and so on. Warps compare by shuffles, and the warps' best in
//   shared memory.
//
// entry: argmax_last_block
// block: 512
// grid: min(ceil(n/512), 4*SMS)

typedef unsigned long long Key;
constexpr unsigned int ALL_ONES = 0xffffffffu;
constexpr int THREADS = 512;
constexpr int MOST = 2048;          // blocks: four for each multiprocessor of any chip

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

extern "C" __global__ void __launch_bounds__(THREADS) argmax_last_block(const float* x, long long* best, int n)
{
    Key key = 0;
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < n; i += (long long)gridDim.x * THREADS)
        key = max(key, key_of(x[i], (unsigned int)i));
    finish(key, best);
}
