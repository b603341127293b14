// 01 bit by bit: one block goes over the keys for each bit, the lowest first; keys whose bit is 0 come first, and those
//   of one kind stay in their order.
//
// Moves: nothing yet. 64 passes over the keys, by one multiprocessor.
// Mapping: thread t -> keys t, t + 1024 ... A ballot counts the zeros before a lane, shared memory those of the warps
//   before.
//
// entry: radix_sort_bit_by_bit
// block: 1024
// grid: 1

constexpr int THREADS = 1024;
constexpr int WARPS = THREADS / 32;
constexpr unsigned int ALL_LANES = 0xffffffffu;

// How many keys of the array have a 0 at this bit.
__device__ int zeros_of(const unsigned int* keys, int n, int bit)
{
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    int mine = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) mine += !(keys[i] >> bit & 1);
    atomicAdd(&total, mine);
    __syncthreads();
    const int zeros = total;
    __syncthreads();  // everyone has read it before it is 0 again
    return zeros;
}

__device__ void split(const unsigned int* from, unsigned int* to, int n, int bit)
{
    __shared__ int of_warps[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int zeros = zeros_of(from, n, bit);
    int before = 0;  // zeros in the rows of 1024 so far
    for (int row = 0; row < n; row += THREADS) {
        const int i = row + threadIdx.x;
        const unsigned int key = i < n ? from[i] : 0xffffffffu;
        const unsigned int ballot = __ballot_sync(ALL_LANES, !(key >> bit & 1));
        if (lane == 0) of_warps[warp] = __popc(ballot);
        __syncthreads();
        int zero = before + __popc(ballot & ((1u << lane) - 1)), all = 0;
        for (int w = 0; w < WARPS; ++w) {
            if (w < warp) zero += of_warps[w];
            all += of_warps[w];
        }
        if (i < n) to[key >> bit & 1 ? zeros + i - zero : zero] = key;
        before += all;
        __syncthreads();  // the counts have been read, and what is written is there for the next bit
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
radix_sort_bit_by_bit(const unsigned int* keys, unsigned int* ordered, unsigned int* scratch, int n)
{
    for (int bit = 0; bit < 32; ++bit) {
        const unsigned int* from = bit == 0 ? keys : bit % 2 ? scratch : ordered;
        split(from, bit % 2 ? ordered : scratch, n, bit);
    }
}
