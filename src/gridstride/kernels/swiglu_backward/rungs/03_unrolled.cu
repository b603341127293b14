// 03 unrolled: no loop; UNROLL vectors of each input are on their way per thread, of any element type.
//
// Moves: nothing less; bytes on their way at the beginning and the end, where a loop's blocks wait for one another.
// Mapping: thread t of block b -> vectors b * 256 UNROLL + t and each 256 further on, of 16 bytes; elements behind the
//   last whole vector are the last block's, and arrays that do not begin at a multiple of 16 bytes go one by one.
//
// entry: swiglu_backward_unrolled
// block: 256
// grid: ceil(n/1024)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef UNROLL
#define UNROLL 1  // vectors per thread and input
#endif

constexpr int THREADS = 256;
constexpr int VECTOR = 16 / sizeof(ELEMENT);
constexpr int TILE = THREADS * UNROLL * VECTOR;  // elements of a block

// Its error in proportion grows with |x|: 16-bit results do not see it.
__device__ __forceinline__ float exponential(float x) { return sizeof(ELEMENT) == 2 ? __expf(x) : expf(x); }

struct Pair {
    ELEMENT gate, up;
};

__device__ __forceinline__ Pair gradients(ELEMENT gate, ELEMENT up, ELEMENT dout)
{
    const float g = float(gate), d = float(dout), s = 1.0f / (1.0f + exponential(-g));
    return {ELEMENT(d * float(up) * (s * (1.0f + g * (1.0f - s)))), ELEMENT(d * (g * s))};
}

struct Vector {
    uint4 raw;
    __device__ ELEMENT& operator[](int i) { return reinterpret_cast<ELEMENT*>(&raw)[i]; }
};

extern "C" __global__ void __launch_bounds__(THREADS) swiglu_backward_unrolled(
    const ELEMENT* __restrict__ gate, const ELEMENT* __restrict__ up, const ELEMENT* __restrict__ dout,
    ELEMENT* __restrict__ dgate, ELEMENT* __restrict__ dup, long long n)
{
    const long long start = (long long)blockIdx.x * TILE;
    const int t = threadIdx.x;
    const bool aligned = (((size_t)gate | (size_t)up | (size_t)dout | (size_t)dgate | (size_t)dup) & 15) == 0;
    const int count = n - start < TILE ? int(n - start) : TILE;  // of this block
    const int vectors = aligned ? count / VECTOR : 0;

    Vector a[UNROLL], b[UNROLL], d[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const int v = t + u * THREADS;
        if (v >= vectors) break;
        a[u].raw = reinterpret_cast<const uint4*>(gate + start)[v];
        b[u].raw = reinterpret_cast<const uint4*>(up + start)[v];
        d[u].raw = reinterpret_cast<const uint4*>(dout + start)[v];
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const int v = t + u * THREADS;
        if (v >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) {
            const Pair found = gradients(a[u][e], b[u][e], d[u][e]);
            a[u][e] = found.gate, b[u][e] = found.up;
        }
        reinterpret_cast<uint4*>(dgate + start)[v] = a[u].raw;
        reinterpret_cast<uint4*>(dup + start)[v] = b[u].raw;
    }
    for (long long i = start + vectors * VECTOR + t; i < start + count; i += THREADS) {
        const Pair found = gradients(gate[i], up[i], dout[i]);
        dgate[i] = found.gate, dup[i] = found.up;
    }
}
