// 03 unrolled: no loop; two vectors of each input are on their way per thread, of any element type.
//
// Moves: nothing less; bytes on their way at the beginning and the end, where a loop's blocks wait for one another.
// Mapping: thread t of block b -> vectors b * 512 + t and 256 further on, of 16 bytes each; elements behind the last
//   whole vector are the last block's, and arrays that do not begin at a multiple of 16 bytes go element by element.
//
// entry: swiglu_unrolled
// block: 256
// grid: ceil(n/2048)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef UNROLL
#define UNROLL 2  // vectors per thread and input
#endif

constexpr int THREADS = 256;
constexpr int VECTOR = 16 / sizeof(ELEMENT);
constexpr int TILE = THREADS * UNROLL * VECTOR;  // elements of a block

// Its error in proportion grows with |x|: 16-bit results do not see it.
__device__ __forceinline__ float exponential(float x) { return sizeof(ELEMENT) == 2 ? __expf(x) : expf(x); }

__device__ __forceinline__ ELEMENT gated(ELEMENT gate, ELEMENT up)
{
    const float g = float(gate);
    return ELEMENT(g / (1.0f + exponential(-g)) * float(up));
}

struct Vector {
    uint4 raw;
    __device__ ELEMENT& operator[](int i) { return reinterpret_cast<ELEMENT*>(&raw)[i]; }
};

extern "C" __global__ void __launch_bounds__(THREADS) swiglu_unrolled(
    const ELEMENT* __restrict__ gate, const ELEMENT* __restrict__ up, ELEMENT* __restrict__ out, long long n)
{
    const long long start = (long long)blockIdx.x * TILE;
    const int t = threadIdx.x;
    const bool aligned = (((size_t)gate | (size_t)up | (size_t)out) & 15) == 0;
    const int count = n - start < TILE ? int(n - start) : TILE;  // of this block
    const int vectors = aligned ? count / VECTOR : 0;

    Vector a[UNROLL], b[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const int v = t + u * THREADS;
        if (v >= vectors) break;
        a[u].raw = reinterpret_cast<const uint4*>(gate + start)[v];
        b[u].raw = reinterpret_cast<const uint4*>(up + start)[v];
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const int v = t + u * THREADS;
        if (v >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) a[u][e] = gated(a[u][e], b[u][e]);
        reinterpret_cast<uint4*>(out + start)[v] = a[u].raw;
    }
    for (int i = vectors * VECTOR + t; i < count; i += THREADS) out[start + i] = gated(gate[start + i], up[start + i]);
}
