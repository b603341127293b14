// 03 heads: a thread keeps its angles for HEADS heads of the token, whose vectors are all on their way at once.
//
// Moves: loads of the tables, from one for each vector of results to one for HEADS of them.
// Mapping: thread t of block b -> a pair of vectors in HEADS heads; all groups of heads of a token, then the next.
//   Where an array does not begin at a multiple of 16 bytes, or the tables' rows are no whole number of vectors, a
//   thread does its numbers one by one.
//
// entry: rotary_heads
// block: 256
// grid: ceil(N*ceil(H/4)*8/256)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef HEAD_WIDTH
#define HEAD_WIDTH 64
#endif
#ifndef HEADS
#define HEADS 4  // of a thread
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

extern "C" __global__ void rotary_heads(
    const ELEMENT* __restrict__ x, const ELEMENT* __restrict__ cosine, const ELEMENT* __restrict__ sine,
    ELEMENT* __restrict__ y, int N, int H, int C, int gap, float direction)
{
    const long long pair = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const int groups = (H + HEADS - 1) / HEADS, first = int(pair % PAIRS) * VECTOR;
    const long long group = pair / PAIRS, row = group / groups;  // among all of them
    if (row >= N) return;
    const int pitch = HALF + gap, head = int(group % groups) * HEADS, heads = min(HEADS, H - head);
    const long long angle = row % C * pitch + first, at = (row * H + head) * HEAD_WIDTH + first;
    const bool whole = (((size_t)x | (size_t)y) & 15) == 0;
    const bool tables = (((size_t)cosine | (size_t)sine) & 15) == 0 && pitch % VECTOR == 0;

    Vector low[HEADS], high[HEADS];
#pragma unroll
    for (int h = 0; h < HEADS; ++h) {
        if (h >= heads) break;
        low[h] = load(x + at + h * HEAD_WIDTH, whole), high[h] = load(x + at + h * HEAD_WIDTH + HALF, whole);
    }
    Vector c = load(cosine + angle, tables), s = load(sine + angle, tables);
#pragma unroll
    for (int h = 0; h < HEADS; ++h) {
        if (h >= heads) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) {
            const float a = float(low[h][e]), b = float(high[h][e]);
            const float cosine_of = float(c[e]), sine_of = float(s[e]) * direction;
            low[h][e] = ELEMENT(a * cosine_of - b * sine_of);
            high[h][e] = ELEMENT(b * cosine_of + a * sine_of);
        }
        store(y + at + h * HEAD_WIDTH, low[h], whole);
        store(y + at + h * HEAD_WIDTH + HALF, high[h], whole);
    }
}
