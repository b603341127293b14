// 01 element per thread: each thread runs the generator for itself, and uses one of the four words that it gives.
//
// Moves: nothing yet. Some hundred instructions for an element of which two are the dropout.
// Mapping: thread i -> element i.
//
// entry: dropout_element_per_thread
// block: 256
// grid: ceil(n/256)

// Philox4x32-10: four random words of a counter and a key.
__device__ __forceinline__ uint4 philox(unsigned long long counter, unsigned long long key)
{
    uint4 word = {unsigned(counter), unsigned(counter >> 32), 0, 0};
    unsigned int low = unsigned(key), high = unsigned(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const unsigned int first = 0xD2511F53u * word.x, second = 0xCD9E8D57u * word.z;
        word = {__umulhi(0xCD9E8D57u, word.z) ^ word.y ^ low, second,
                __umulhi(0xD2511F53u, word.x) ^ word.w ^ high, first};
        low += 0x9E3779B9u;
        high += 0xBB67AE85u;
    }
    return word;
}

extern "C" __global__ void dropout_element_per_thread(
    const float* x, const long long* seed, float* y, long long n, unsigned int drop, float scale)
{
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint4 words = philox(seed[1] + i / 4, seed[0]);
    const unsigned int mine = i % 4 == 0 ? words.x : i % 4 == 1 ? words.y : i % 4 == 2 ? words.z : words.w;
    y[i] = mine >= drop ? x[i] * scale : 0.0f;
}
