// 03 vectorised: 16 bytes per load and store.
//
// Moves: memory instructions for the same bytes, to 1/8 (16-bit elements): three for eight results.
// Mapping: thread g of the grid -> vector g of a row's H / 8 vectors, rows one after the other; where H is no whole
//   number of vectors, a thread does eight elements one by one.
//
// entry: silu_mul_vectorised
// block: 256
// grid: ceil(N*ceil(H/8)/256)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT __half
#endif

constexpr int VECTOR = 16 / sizeof(ELEMENT);

struct Vector {
    uint4 raw;
    __device__ ELEMENT& operator[](int i) { return reinterpret_cast<ELEMENT*>(&raw)[i]; }
};

__device__ __forceinline__ ELEMENT gated(ELEMENT gate, ELEMENT up)
{
    const float g = float(gate);
    return ELEMENT(g / (1.0f + __expf(-g)) * float(up));
}

// Until the kernels in front have ended, and what they wrote is there. Every thread does: see kernels/torch_op.py.
__device__ __forceinline__ void wait_for_those_in_front()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void let_the_next_begin()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

extern "C" __global__ void silu_mul_vectorised(const ELEMENT* gate_up, ELEMENT* out, int N, int H)
{
    let_the_next_begin();
    const int vectors = (H + VECTOR - 1) / VECTOR;  // of one row of results, the last one perhaps not full
    const long long g = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long row = g / vectors;
    const int first = int(g % vectors) * VECTOR;
    const ELEMENT* gate = gate_up + row * 2 * H + first;
    wait_for_those_in_front();
    if (row >= N) return;
    if (H % VECTOR == 0) {
        Vector p = {*reinterpret_cast<const uint4*>(gate)};
        Vector q = {*reinterpret_cast<const uint4*>(gate + H)};
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) p[e] = gated(p[e], q[e]);
        *reinterpret_cast<uint4*>(out + row * H + first) = p.raw;
    } else {
        for (int e = 0; e < VECTOR && first + e < H; ++e) out[row * H + first + e] = gated(gate[e], gate[H + e]);
    }
}
