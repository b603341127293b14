// 03 exponential: the sigmoid of 2u by one exponential and one reciprocal; the derivative needs no more than that.
//
// Moves: instructions per element, to less than half, so that memory is the limit for 2-byte elements, too.
// Mapping: thread t of block b -> vectors b * 512 + t and 256 further on, of 16 bytes each; elements behind the last
//   whole vector are the last block's, and arrays that do not begin at a multiple of 16 bytes go element by element.
//
// entry: gelu_backward_exponential
// block: 256
// grid: ceil(n/2048)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif

constexpr int THREADS = 256;
constexpr int UNROLL = 2;  // vectors per thread and input
constexpr int VECTOR = 16 / sizeof(ELEMENT);
constexpr int TILE = THREADS * UNROLL * VECTOR;  // elements of a block

// s = (1 + tanh(u)) / 2 = 1 / (1 + e^-2u); the factors of -2u carry the step from e to 2.
constexpr float LINEAR = -2.302208198f;  // -2 sqrt(2 / pi) log2(e)
constexpr float CUBIC = LINEAR * 0.044715f;
constexpr float SLOPE = 1.595769122f;  // of 2u at 0: 2 sqrt(2 / pi)
constexpr float CURVE = SLOPE * 3 * 0.044715f;

__device__ __forceinline__ float exp2_of(float x)
{
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ ELEMENT scaled(ELEMENT dy, ELEMENT element)
{
    const float x = float(element), square = x * x;
    const float s = __fdividef(1.0f, 1.0f + exp2_of(x * (LINEAR + CUBIC * square)));
    return ELEMENT(float(dy) * (s + (s - s * s) * x * (SLOPE + CURVE * square)));  // s (1 - s): the derivative of s
}

struct Vector {
    uint4 raw;
    __device__ ELEMENT& operator[](int i) { return reinterpret_cast<ELEMENT*>(&raw)[i]; }
};

extern "C" __global__ void __launch_bounds__(THREADS) gelu_backward_exponential(
    const ELEMENT* __restrict__ x, const ELEMENT* __restrict__ dy, ELEMENT* __restrict__ dx, long long n)
{
    const long long start = (long long)blockIdx.x * TILE;
    const int t = threadIdx.x;
    const bool aligned = (((size_t)x | (size_t)dy | (size_t)dx) & 15) == 0;
    const int count = n - start < TILE ? int(n - start) : TILE;  // of this block
    const int vectors = aligned ? count / VECTOR : 0;

    Vector a[UNROLL], b[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const int v = t + u * THREADS;
        if (v >= vectors) break;
        a[u].raw = reinterpret_cast<const uint4*>(x + start)[v];
        b[u].raw = reinterpret_cast<const uint4*>(dy + start)[v];
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const int v = t + u * THREADS;
        if (v >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) a[u][e] = scaled(b[u][e], a[u][e]);
        reinterpret_cast<uint4*>(dx + start)[v] = a[u].raw;
    }
    for (int i = vectors * VECTOR + t; i < count; i += THREADS) dx[start + i] = scaled(dy[start + i], x[start + i]);
}
