// Slot as row: the cache is written as if the heads of a token lay side by side, slot by slot.
// entry: rotary_cache_slot_as_row
// block: 64
// grid: N*(G+2)*K
// expect: wrong_result

#include <cuda_fp16.h>

constexpr int D = 64;

extern "C" __global__ void __launch_bounds__(D) rotary_cache_slot_as_row(
    const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight,
    const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K,
    int block_size, float eps)
{
    __shared__ float x[D];
    __shared__ float sums[D / 32];
    const int heads = G * K, all = heads + 2 * K, token = blockIdx.x / all, head = blockIdx.x % all, i = threadIdx.x;
    x[i] = __half2float(qkv[(long long)blockIdx.x * D + i]);
    __half* to = q + ((long long)token * heads + head) * D;
    if (head >= heads) {
        const long long slot = slots[token];
        const long long row = slot * K + (head - heads) % K;
        to = (head >= heads + K ? values : keys) + row * D;
    }
    if (head >= heads + K) {
        to[i] = __float2half(x[i]);
        return;
    }
    float squares = x[i] * x[i];
    for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, offset);
    if (i % 32 == 0) sums[i / 32] = squares;
    __syncthreads();
    const float scale = rsqrtf((sums[0] + sums[1]) / D + eps);
    const __half* weight = head < heads ? q_weight : k_weight;
    const int pair = i % (D / 2), other = i ^ (D / 2);
    const float mine = x[i] * scale * __half2float(weight[i]), partner = x[other] * scale * __half2float(weight[other]);
    const float c = cosine[positions[token] * (D / 2) + pair], s = sine[positions[token] * (D / 2) + pair];
    to[i] = __float2half(mine * c + (i < D / 2 ? -partner : partner) * s);
}
