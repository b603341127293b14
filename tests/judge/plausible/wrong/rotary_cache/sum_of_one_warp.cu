// grid: N (G+2)*K
// block: 64
// fault: missing barrier
// kinds: race uninitialised_read wrong_result
// Two warps share a head; each leaves its half of the squares in shared memory, and no barrier stands before the sum.
#include <cuda_fp16.h>
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    __shared__ float half_sum[2];
    int n = blockIdx.x, h = blockIdx.y, i = threadIdx.x, heads = G * K;
    const __half* x = qkv + ((size_t)n * gridDim.y + h) * 64;
    float mine = __half2float(x[i]), other = __half2float(x[i ^ 32]), t = mine * mine;
    for (int k = 16; k; k >>= 1) t += __shfl_xor_sync(~0u, t, k);
    if (i % 32 == 0) half_sum[i / 32] = t;
    __syncwarp();
    long long slot = slots[n], p = positions[n] * 32 + i % 32;
    if (h < heads + K) {
        const __half* w = h < heads ? q_weight : k_weight;
        other *= __half2float(w[i ^ 32]) * sine[p];
        mine = rsqrtf((half_sum[0] + half_sum[1]) / 64 + eps) * (mine * __half2float(w[i]) * cosine[p] + (i < 32 ? -other : other));
    }
    size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
    (h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64)[i] = __float2half(mine);
}
