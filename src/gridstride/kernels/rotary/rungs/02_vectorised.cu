// 02 vectorised: 16 bytes per load and store; a vector of low numbers and the one of their high partners per thread.
//
// Moves: memory instructions for the same bytes, to 1/4 (to 1/8 for 2-byte elements).
// Mapping: thread t of block b -> pair of vectors b * 256 + t, head after head. Heads that share a row's angles are
//   neighbours, so that the tables come from the cache. Where an array does not begin at a multiple of 16 bytes, or
//   the tables' rows are no whole number of vectors, a thread does its numbers one by one.
//
// entry: rotary_vectorised
// block: 256
// grid: ceil(N*H*8/256)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef HEAD_WIDTH
#define HEAD_WIDTH 64
#endif

constexpr int HALF = HEAD_WIDTH / 2;
constexpr int VECTOR = 16 / sizeof(ELEMENT);
constexpr int PAIRS = HALF / VECTOR;  // of vectors, in a head
static_assert(HALF % VECTOR == 0, "a half of a head is a whole number of vectors");

struct Vector {
    uint4 raw;
    __device__ ELEMENT& operator[](int i) { return reinterpret_cast<ELEMENT*>(&raw)[i]; }
};

__device__ __forceinline__ Vector load(const ELEMENT* from, bool whole)
{
    Vector v;
    if (whole) v.raw = *reinterpret_cast<const uint4*>(from);
    else
        for (int e = 0; e < VECTOR; ++e) v[e] = from[e];
    return v;
}

__device__ __forceinline__ void store(ELEMENT* to, Vector v, bool whole)
{
    if (whole) *reinterpret_cast<uint4*>(to) = v.raw;
    else
        for (int e = 0; e < VECTOR; ++e) to[e] = v[e];
}

extern "C" __global__ void rotary_vectorised(
    const ELEMENT* __restrict__ x, const ELEMENT* __restrict__ cosine, const ELEMENT* __restrict__ sine,
    ELEMENT* __restrict__ y, int N, int H, int C, int gap, float direction)
{
    const long long pair = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long head = pair / PAIRS;  // among all of them
    const int first = int(pair % PAIRS) * VECTOR;
    const long long row = head / H;
    if (row >= N) return;
    const int pitch = HALF + gap;
    const long long angle = row % C * pitch + first, at = head * HEAD_WIDTH + first;
    const bool whole = (((size_t)x | (size_t)y) & 15) == 0;
    const bool tables = (((size_t)cosine | (size_t)sine) & 15) == 0 && pitch % VECTOR == 0;

    Vector low = load(x + at, whole), high = load(x + at + HALF, whole);
    Vector c = load(cosine + angle, tables), s = load(sine + angle, tables);
#pragma unroll
    for (int e = 0; e < VECTOR; ++e) {
        const float a = float(low[e]), b = float(high[e]), cosine_of = float(c[e]), sine_of = float(s[e]) * direction;
        low[e] = ELEMENT(a * cosine_of - b * sine_of);
        high[e] = ELEMENT(b * cosine_of + a * sine_of);
    }
    store(y + at, low, whole);
    store(y + at + HALF, high, whole);
}
