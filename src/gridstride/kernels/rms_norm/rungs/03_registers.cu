// 03 registers: 16 bytes per load; a row stays in registers between its two uses.
//
// Moves: bytes read per element, from twice each input to once; load instructions, to 1/8 (16-bit elements).
// Mapping: one block per row; thread t of T -> vectors t, t + T, t + 2T ..., up to KEPT of them kept in registers.
//   Longer rows, rows whose width is no whole number of vectors, and arrays that do not begin at 16 bytes go element by
//   element and read the sum again.
//
// entry: rms_norm_registers
// block: 128
// grid: N

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT __half
#endif
#ifndef THREADS
#define THREADS 128  // a multiple of 32
#endif
#ifndef KEPT
#define KEPT 4  // vectors per thread
#endif
#ifndef FIXED_WEIGHTS
#define FIXED_WEIGHTS 0  // no kernel in front writes the weight
#endif
#ifndef ADDS
#define ADDS 1  // 0: there is no delta, and a row is kept as it came
#endif
#ifndef EARLY_WEIGHTS
#define EARLY_WEIGHTS 1  // 0: asked for behind the sum, by rows whose threads have no registers left for them
#endif

constexpr int WARPS = THREADS / 32;
constexpr int VECTOR = 16 / sizeof(ELEMENT);  // elements of one 16-byte load
constexpr unsigned int ALL_LANES = 0xffffffffu;

struct Vector {
    uint4 raw;
    __device__ ELEMENT& operator[](int i) { return reinterpret_cast<ELEMENT*>(&raw)[i]; }
};

__device__ __forceinline__ float block_sum(float value)
{
    __shared__ float sums[WARPS];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(ALL_LANES, value, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
    __syncthreads();
    float total = 0.0f;
    for (int w = 0; w < WARPS; ++w) total += sums[w];
    return total;
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

extern "C" __global__ void __launch_bounds__(THREADS) rms_norm_registers(
    ELEMENT* residual, const ELEMENT* delta, const ELEMENT* weight, ELEMENT* out, int N, int W, float eps)
{
    let_the_next_begin();  // a product behind this may ask for its weights meanwhile
    const long long start = (long long)blockIdx.x * W;
    const int t = threadIdx.x;

    const bool aligned = (((size_t)residual | (size_t)delta | (size_t)weight | (size_t)out) & 15) == 0;
    if (!aligned || W % VECTOR || W > KEPT * THREADS * VECTOR) {
        wait_for_those_in_front();
        float squares = 0.0f;
        for (int i = t; i < W; i += THREADS) {
            float x = float(residual[start + i]);
            if (ADDS && delta) {
                x += float(delta[start + i]);
                residual[start + i] = ELEMENT(x);
            }
            squares += x * x;
        }
        const float scale = rsqrtf(block_sum(squares) / W + eps);
        for (int i = t; i < W; i += THREADS)
            out[start + i] = ELEMENT(float(residual[start + i]) * scale * float(weight[i]));
        return;
    }

    // All loads before the first store, which the compiler must not move them over.
    Vector w[KEPT], x[KEPT], d[KEPT] = {};
    if (!FIXED_WEIGHTS || !EARLY_WEIGHTS) wait_for_those_in_front();
#pragma unroll
    for (int k = 0; EARLY_WEIGHTS && k < KEPT; ++k)
        if (t + k * THREADS < W / VECTOR) w[k].raw = reinterpret_cast<const uint4*>(weight)[t + k * THREADS];
    if (FIXED_WEIGHTS && EARLY_WEIGHTS) wait_for_those_in_front();
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        const int v = t + k * THREADS;
        if (v >= W / VECTOR) break;
        x[k].raw = reinterpret_cast<const uint4*>(residual + start)[v];
        if (ADDS && delta) d[k].raw = reinterpret_cast<const uint4*>(delta + start)[v];
    }
    float kept[KEPT][VECTOR];  // the sums, before they are rounded
    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        const int v = t + k * THREADS;
        if (v >= W / VECTOR) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) {
            const float sum = float(x[k][e]) + (ADDS && delta ? float(d[k][e]) : 0.0f);
            squares += sum * sum;
            if (!ADDS) continue;
            kept[k][e] = sum;
            x[k][e] = ELEMENT(sum);
        }
        if (ADDS && delta) reinterpret_cast<uint4*>(residual + start)[v] = x[k].raw;
    }
    const float scale = rsqrtf(block_sum(squares) / W + eps);
#pragma unroll
    for (int k = 0; k < KEPT; ++k) {
        const int v = t + k * THREADS;
        if (v >= W / VECTOR) break;
        if (!EARLY_WEIGHTS) w[k].raw = reinterpret_cast<const uint4*>(weight)[v];
        Vector y;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e)
            y[e] = ELEMENT((ADDS ? kept[k][e] : float(x[k][e])) * scale * float(w[k][e]));
        reinterpret_cast<uint4*>(out + start)[v] = y.raw;
    }
}
