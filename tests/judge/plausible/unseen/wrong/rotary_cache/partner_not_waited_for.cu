// grid: N (G+1)*K
// block: 64
// fault: race between warps
// kinds: race wrong_result uninitialised_read
// The other half of the head is read from shared memory after a __syncwarp(): it is the other warp's.

#include <cuda_fp16.h>

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    __shared__ float sums[2], head_of[64];
    const int token = blockIdx.x, head = blockIdx.y, d = threadIdx.x;
    const __half* row = qkv + (size_t)token * (G + 2) * K * 64;
    const bool key = head >= G * K;
    const long long slot = slots[token];
    float v = __half2float(row[head * 64 + d]), sum = v * v;
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (d % 32 == 0) sums[d / 32] = sum;
    __syncthreads();
    v *= rsqrtf((sums[0] + sums[1]) / 64 + eps) * __half2float((key ? k_weight : q_weight)[d]);
    head_of[d] = v;
    __syncwarp();
    if (d < 32) {
        const int i = d;
        const float low = v, high = head_of[d + 32], c = cosine[positions[token] * 32 + i], s = sine[positions[token] * 32 + i];
        const __half first = __float2half(low * c - high * s), second = __float2half(high * c + low * s);
        const long long place = ((slot / block_size * K + head - G * K) * block_size + slot % block_size) * 64 + i;
        __half* to = key ? keys + place : q + ((size_t)token * G * K + head) * 64 + i;
        to[0] = first, to[32] = second;
        if (key) {
            values[place] = row[(head + K) * 64 + i];
            values[place + 32] = row[(head + K) * 64 + i + 32];
        }
    }
}
