// 01 one block: 1024 threads go through x, a tree in shared memory finds the best of theirs.
//
// Moves: the start: one multiprocessor, 4 bytes a thread on their way.
// Mapping: thread t -> elements t, t + 1024 and so on.
//
// entry: argmax_one_block
// block: 1024
// grid: 1

typedef unsigned long long Key;
constexpr unsigned int ALL_ONES = 0xffffffffu;
constexpr int THREADS = 1024;

// An element and where it is as one number: of larger elements a larger one, of equal ones that of the lower index.
__device__ __forceinline__ Key key_of(float value, unsigned int index)
{
    if (value != value) return (Key)ALL_ONES << 32 | ~index;  // a NaN, of either sign
    const unsigned int bits = __float_as_uint(value + 0.0f);  // -0 becomes 0
    const unsigned int ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
    return (Key)ordered << 32 | ~index;
}

extern "C" __global__ void __launch_bounds__(THREADS) argmax_one_block(const float* x, long long* best, int n)
{
    __shared__ Key keys[THREADS];
    const int t = threadIdx.x;
    Key key = 0;
    for (long long i = t; i < n; i += THREADS) key = max(key, key_of(x[i], (unsigned int)i));
    keys[t] = key;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s) keys[t] = max(keys[t], keys[t + s]);
        __syncthreads();
    }
    if (t == 0) best[0] = ~(unsigned int)keys[0];
}
