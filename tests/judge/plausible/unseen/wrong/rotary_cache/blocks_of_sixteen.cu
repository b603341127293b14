// grid: N
// block: 64
// fault: parameter hard-coded
// kinds: wrong_result out_of_bounds race
// A slot is split by shifts for blocks of 16, whatever block_size is.

#include <cuda_fp16.h>

__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values, int N, int G, int K, int block_size, float eps)
{
    __shared__ float part[2], turned[64];
    const int token = blockIdx.x, d = threadIdx.x, i = d % 32;
    const long long block = slots[token] >> 4, offset = slots[token] & 15;
    const float c = cosine[positions[token] * 32 + i], s = d < 32 ? -sine[positions[token] * 32 + i] : sine[positions[token] * 32 + i];
    for (int head = 0; head < (G + 2) * K; ++head) {
        float v = __half2float(qkv[((size_t)token * (G + 2) * K + head) * 64 + d]);
        const long long place = ((block * K + (head - G * K)  % K) * 16 + offset) * 64 + d;
        if (head >= (G + 1) * K) {
            values[place] = __float2half(v);
            continue;
        }
        float sum = v * v;
        for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
        if (i == 0) part[d / 32] = sum;
        __syncthreads();
        v *= rsqrtf((part[0] + part[1]) / 64 + eps) * __half2float((head < G * K ? q_weight : k_weight)[d]);
        turned[d] = v;
        __syncthreads();
        const __half result = __float2half(v * c + turned[d ^ 32] * s);
        if (head < G * K)
            q[((size_t)token * G * K + head) * 64 + d] = result;
        else
            keys[place] = result;
        __syncthreads();
    }
}
