// One row at a time: softmax, layer norm, RMS norm, top-k; 4-bit weights; small floats in pairs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>

template <typename T, typename Op> __device__ T over_block(T v, T none, Op op) {
    __shared__ T part[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int apart = 16; apart; apart /= 2) v = op(v, __shfl_xor_sync(~0u, v, apart));
    if (lane == 0) part[warp] = v;
    __syncthreads();
    v = lane < blockDim.x / 32 ? part[lane] : none;
    for (int apart = 16; apart; apart /= 2) v = op(v, __shfl_xor_sync(~0u, v, apart));
    __syncthreads();  // the next call may write part
    return v;
}
__device__ float sum(float v) { return over_block(v, 0.f, [](float a, float b) { return a + b; }); }
__device__ float most(float v) { return over_block(v, -INFINITY, [](float a, float b) { return fmaxf(a, b); }); }

// A block for each row; a thread has at most two runs of four numbers in registers.
extern "C" __global__ void softmax(const float4 *x, float4 *y, int quads) {
    const float4 *row = x + (size_t)blockIdx.x * quads;
    float4 v[2];
    float top = -INFINITY, total = 0;
    for (int i = 0; i < 2; ++i) {
        int at = threadIdx.x + i * blockDim.x;
        v[i] = at < quads ? row[at] : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
        top = fmaxf(top, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
    }
    top = most(top);
    for (int i = 0; i < 2; ++i) {
        v[i] = make_float4(__expf(v[i].x - top), __expf(v[i].y - top), __expf(v[i].z - top), __expf(v[i].w - top));
        total += v[i].x + v[i].y + v[i].z + v[i].w;
    }
    float scale = 1 / sum(total);
    for (int i = 0; i < 2; ++i) {
        int at = threadIdx.x + i * blockDim.x;
        if (at < quads) y[(size_t)blockIdx.x * quads + at] =
            make_float4(v[i].x * scale, v[i].y * scale, v[i].z * scale, v[i].w * scale);
    }
}

// Welford's means of each lane are merged by shuffles, then through shared memory.
struct Moments { float mean, m2, n; };
__device__ Moments merged(Moments a, Moments b) {
    float n = a.n + b.n, d = b.mean - a.mean, part = n ? b.n / n : 0;
    return {a.mean + d * part, a.m2 + b.m2 + d * d * a.n * part, n};
}
extern "C" __global__ void layer_norm(const float *x, const float *gain, const float *shift, float *y, int n) {
    __shared__ Moments part[32];
    const float *row = x + (size_t)blockIdx.x * n;
    Moments m = {};
    for (int i = threadIdx.x; i < n; i += blockDim.x) m = merged(m, {row[i], 0, 1});
    for (int apart = 16; apart; apart /= 2)
        m = merged(m, {__shfl_down_sync(~0u, m.mean, apart), __shfl_down_sync(~0u, m.m2, apart),
                       __shfl_down_sync(~0u, m.n, apart)});
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = m;
    __syncthreads();
    m = part[0];
    for (int w = 1; w < blockDim.x / 32; ++w) m = merged(m, part[w]);
    float scale = rsqrtf(m.m2 / n + 1e-5f);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[(size_t)blockIdx.x * n + i] = (row[i] - m.mean) * scale * gain[i] + shift[i];
}

// Eight halves a load, sums in f32.
extern "C" __global__ void rms_norm(const uint4 *x, const uint4 *gain, uint4 *y, int chunks) {
    uint4 v = {}, g = {};
    float squares = 0;
    bool inside = threadIdx.x < chunks;
    if (inside) { v = x[(size_t)blockIdx.x * chunks + threadIdx.x]; g = gain[threadIdx.x]; }
    half2 *pairs = (half2 *)&v, *gains = (half2 *)&g;
    for (int i = 0; i < 4; ++i) { float2 f = __half22float2(pairs[i]); squares += f.x * f.x + f.y * f.y; }
    float scale = rsqrtf(sum(squares) / (8 * chunks) + 1e-6f);
    for (int i = 0; i < 4; ++i) {
        float2 f = __half22float2(pairs[i]);
        pairs[i] = __hmul2(__floats2half2_rn(f.x * scale, f.y * scale), gains[i]);
    }
    if (inside) y[(size_t)blockIdx.x * chunks + threadIdx.x] = v;
}

// A warp keeps the 32 largest of its row, sorted over its lanes; each new 32 are sorted and merged by a bitonic network.
__device__ void order(float &key, int &index, int lane, int apart, bool down) {
    float other = __shfl_xor_sync(~0u, key, apart);
    int there = __shfl_xor_sync(~0u, index, apart);
    bool low = !(lane & apart), mine = key > other || (key == other && index < there);
    if (mine != (low == down)) { key = other; index = there; }
}
__device__ void sort(float &key, int &index, int lane) {
    for (int size = 2; size <= 32; size *= 2)
        for (int apart = size / 2; apart; apart /= 2) order(key, index, lane, apart, size == 32 || !(lane & size));
}
extern "C" __global__ void top_k(const float *x, float *values, int *indices, int rows, int n, int k) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float best = -INFINITY;
    int where = 0x7fffffff;
    for (int start = 0; start < n; start += 32) {
        float key = start + lane < n ? x[(size_t)row * n + start + lane] : -INFINITY;
        int index = start + lane;
        float least = __shfl_sync(~0u, best, 31);
        if (__all_sync(~0u, key <= least)) continue;
        sort(key, index, lane);
        key = __shfl_sync(~0u, key, 31 - lane);  // the best against the worst of the new ones
        index = __shfl_sync(~0u, index, 31 - lane);
        if (key > best || (key == best && index < where)) { best = key; where = index; }
        for (int apart = 16; apart; apart /= 2) order(best, where, lane, apart, true);
    }
    if (lane < k) { values[row * k + lane] = best; indices[row * k + lane] = where; }
}

// 32 weights share a scale; eight 4-bit numbers, offset by 8, lie in a word.
extern "C" __global__ void quantise(const float *w, uint32_t *packed, half *scales) {
    int group = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float v = w[group * 32 + lane], size = fabsf(v);
    for (int apart = 16; apart; apart /= 2) size = fmaxf(size, __shfl_xor_sync(~0u, size, apart));
    half scale = __float2half_rn(size / 7);
    float real = __half2float(scale);
    int q = real > 0 ? __float2int_rn(v / real) : 0;
    uint32_t bits = (uint32_t)(min(7, max(-8, q)) + 8) << lane % 8 * 4;
    for (int apart = 4; apart; apart /= 2) bits |= __shfl_xor_sync(~0u, bits, apart);
    if (lane % 8 == 0) packed[group * 4 + lane / 8] = bits;
    if (lane == 0) scales[group] = scale;
}
// y = W · x; a warp for each row, a lane takes 8 weights of a word at a time, turned into halves by bit tricks.
extern "C" __global__ void multiply(const uint32_t *packed, const half *scales, const half *x, float *y, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float total = 0;
    for (int word = lane; word < n / 8; word += 32) {
        uint32_t bits = packed[(size_t)row * n / 8 + word];
        half2 part = __float2half2_rn(0);
        for (int j = 0; j < 4; ++j) {  // 0x6400 is 1024: the low bits of its mantissa count ones
            uint32_t pair = (bits >> 8 * j & 15) | (bits >> 8 * j + 4 & 15) << 16 | 0x64006400;
            half2 w = __hsub2(*(half2 *)&pair, __float2half2_rn(1032));
            part = __hfma2(w, *(const half2 *)&x[word * 8 + 2 * j], part);
        }
        total += (__low2float(part) + __high2float(part)) * __half2float(scales[((size_t)row * n + word * 8) / 32]);
    }
    for (int apart = 16; apart; apart /= 2) total += __shfl_xor_sync(~0u, total, apart);
    if (lane == 0) y[row] = total;
}

template <typename Pair> __device__ Pair swish(Pair v, Pair one) { return __h2div(v, __hadd2(one, h2exp(__hneg2(v)))); }
extern "C" __global__ void swishes(const half2 *a, half2 *b, const __nv_bfloat162 *c, __nv_bfloat162 *d, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    b[i] = swish(a[i], __float2half2_rn(1));
    d[i] = swish(c[i], __float2bfloat162_rn(1));
}
