// Each block alike: the counter is the thread's number in its block, so all blocks have one mask.
//
// entry: dropout_each_block_alike
// block: 256
// grid: ceil(n/1024)
// expect: wrong_result

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

extern "C" __global__ void dropout_each_block_alike(
    const float* x, const long long* seed, float* y, long long n, unsigned int drop, float scale)
{
    const long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    const uint4 words = philox(seed[1] + threadIdx.x, seed[0]);
    const unsigned int word[4] = {words.x, words.y, words.z, words.w};
    for (int e = 0; e < 4; ++e)
        if (4 * t + e < n) y[4 * t + e] = word[e] >= drop ? x[4 * t + e] * scale : 0.0f;
}
