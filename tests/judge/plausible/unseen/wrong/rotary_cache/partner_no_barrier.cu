// grid: N*(G+2)*K
// block: 64
// fault: race
// kinds: race
// Thread d reads number d +- 32 of the head, which a thread of the other warp has just put into shared memory, with no barrier between (every size).

#include <cuda_fp16.h>

// One block of 64 threads per head of a token: thread d has number d of the head.
__global__ void rotary_cache(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight, const __half* k_weight,
                             const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
                             int N, int G, int K, int block_size, float eps)
{
    const int heads = (G + 2) * K, head = blockIdx.x % heads, token = blockIdx.x / heads, d = threadIdx.x;
    __shared__ float numbers[64], sums[2];
    float v = __half2float(qkv[((size_t)token * heads + head) * 64 + d]);
    const long long slot = slots[token], position = positions[token];
    const long long block = slot / block_size, offset = slot % block_size;
    if (head >= (G + 1) * K) {
        values[((block * K + head - (G + 1) * K) * block_size + offset) * 64 + d] = __float2half(v);
        return;
    }
    float sum = v * v;
    for (int k = 16; k > 0; k >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, k);
    if (d % 32 == 0) sums[d / 32] = sum;
    __syncthreads();
    v *= rsqrtf((sums[0] + sums[1]) / 64.0f + eps) * __half2float(head < G * K ? q_weight[d] : k_weight[d]);
    numbers[d] = v;
    const float c = cosine[position * 32 + d % 32], s = sine[position * 32 + d % 32];
    const float turned = d < 32 ? v * c - numbers[d + 32] * s : v * c + numbers[d - 32] * s;
    if (head < G * K) q[((size_t)token * G * K + head) * 64 + d] = __float2half(turned);
    else keys[((block * K + head - G * K) * block_size + offset) * 64 + d] = __float2half(turned);
}
