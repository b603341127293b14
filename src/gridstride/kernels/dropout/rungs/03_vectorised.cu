// 03 vectorised: the four elements are one load and one store, two such vectors on their way for a thread.
//
// Moves: load and store instructions, to 1/4; sectors a request, each used whole; bytes in flight, by 8.
// Mapping: thread t of block b -> vectors 2 T b + t and 2 T b + T + t, T threads in a block. The elements of an array
//   that does not begin at a whole vector, and those of the last one, where it is not whole, go one by one.
//
// entry: dropout_vectorised
// block: 256
// grid: ceil(n/2048)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif

constexpr int THREADS = 256;
constexpr int VECTOR = 4;  // as many as the generator gives words
constexpr int UNROLL = 2;

struct alignas(VECTOR * sizeof(ELEMENT)) Vector {
    ELEMENT of[VECTOR];
};

// Philox4x32-10: four random words of a counter and a key.
__device__ __forceinline__ uint4 philox(unsigned long long counter, unsigned long long key)
{
    uint4 word = {unsigned(counter), unsigned(counter >> 32), 0, 0};
    unsigned int low = unsigned(key), high = unsigned(key >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const unsigned int first = 0xD2511F53u * word.x, second = 0xCD9E8D57u * word.z;
        word = {__umulhi(0xCD9E8D57u, word.z) ^ word.y ^ low, second,
                __umulhi(0xD2511F53u, word.x) ^ word.w ^ high, first};
        low += 0x9E3779B9u;
        high += 0xBB67AE85u;
    }
    return word;
}

extern "C" __global__ void __launch_bounds__(THREADS) dropout_vectorised(
    const ELEMENT* __restrict__ x, const long long* __restrict__ seed, ELEMENT* __restrict__ y, long long n,
    unsigned int drop, float scale)
{
    const long long first = blockIdx.x * (long long)(UNROLL * THREADS) + threadIdx.x;
    const bool aligned = ((size_t)x | (size_t)y) % (VECTOR * sizeof(ELEMENT)) == 0;
    const long long vectors = aligned ? n / VECTOR : 0;
    Vector given[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; ++k)
        if (first + k * THREADS < vectors) given[k] = reinterpret_cast<const Vector*>(x)[first + k * THREADS];
    const unsigned long long key = seed[0], start = seed[1];
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
        const long long v = first + k * THREADS;
        if (v * VECTOR >= n) return;
        const uint4 words = philox(start + v, key);
        const unsigned int word[VECTOR] = {words.x, words.y, words.z, words.w};
        if (v < vectors) {
#pragma unroll
            for (int e = 0; e < VECTOR; ++e)
                given[k].of[e] = ELEMENT(word[e] >= drop ? float(given[k].of[e]) * scale : 0.0f);
            reinterpret_cast<Vector*>(y)[v] = given[k];
        } else {
#pragma unroll
            for (int e = 0; e < VECTOR; ++e)
                if (v * VECTOR + e < n)
                    y[v * VECTOR + e] = ELEMENT(word[e] >= drop ? float(x[v * VECTOR + e]) * scale : 0.0f);
        }
    }
}
