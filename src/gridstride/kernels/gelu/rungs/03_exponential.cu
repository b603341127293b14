// 03 exponential: one exponential and one reciprocal instead of tanhf, no branch.
//
// Moves: instructions per element, to less than half, so that memory is the limit for 2-byte elements, too.
// Mapping: thread t of block b -> vector 256 b + t of 16 bytes, UNROLL of them 256 apart; elements behind the last
//   whole vector are the last block's, and arrays that do not begin at a multiple of 16 bytes go element by element.
//
// entry: gelu_exponential
// block: 256
// grid: ceil(n/1024)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef UNROLL
#define UNROLL 1  // vectors per thread
#endif

constexpr int THREADS = 256;
constexpr int VECTOR = 16 / sizeof(ELEMENT);
constexpr int TILE = THREADS * UNROLL * VECTOR;  // elements of a block

// (1 + tanh(u)) / 2 = 1 / (1 + e^-2u); the factors of -2u carry the step from e to 2.
constexpr float LINEAR = -2.302208198f;  // -2 sqrt(2 / pi) log2(e)
constexpr float CUBIC = LINEAR * 0.044715f;

__device__ __forceinline__ float exp2_of(float x)
{
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ ELEMENT gelu(ELEMENT element)
{
    const float x = float(element);
    return ELEMENT(__fdividef(x, 1.0f + exp2_of(x * (LINEAR + CUBIC * x * x))));
}

struct Vector {
    uint4 raw;
    __device__ ELEMENT& operator[](int i) { return reinterpret_cast<ELEMENT*>(&raw)[i]; }
};

extern "C" __global__ void __launch_bounds__(THREADS) gelu_exponential(
    const ELEMENT* __restrict__ x, ELEMENT* __restrict__ y, long long n)
{
    const long long start = (long long)blockIdx.x * TILE;
    const int t = threadIdx.x;
    const bool aligned = (((size_t)x | (size_t)y) & 15) == 0;
    const int count = n - start < TILE ? int(n - start) : TILE;  // of this block
    const int vectors = aligned ? count / VECTOR : 0;
    const uint4* from = reinterpret_cast<const uint4*>(x + start);
    uint4* to = reinterpret_cast<uint4*>(y + start);

    Vector a[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
        if (t + u * THREADS < vectors) a[u].raw = from[t + u * THREADS];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        if (t + u * THREADS >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) a[u][e] = gelu(a[u][e]);
        to[t + u * THREADS] = a[u].raw;
    }
    for (int i = vectors * VECTOR + t; i < count; i += THREADS) y[start + i] = gelu(x[start + i]);
}
