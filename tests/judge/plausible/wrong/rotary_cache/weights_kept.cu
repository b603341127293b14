// grid: N (G+2)*K
// block: 64
// fault: device variable
// kinds: wrong_result race
// The weights are kept on the device from the first launch: the next layer's are never looked at.
#include <cuda_fp16.h>
__device__ float kept[2][64];
__device__ int state[64];
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    __shared__ float x[64];
    int n = blockIdx.x, h = blockIdx.y, i = threadIdx.x, heads = G * K;
    x[i] = __half2float(qkv[((size_t)n * gridDim.y + h) * 64 + i]);
    int s = atomicCAS(&state[i], 0, 1);
    if (s == 0) {
        atomicExch(&kept[0][i], __half2float(q_weight[i]));
        atomicExch(&kept[1][i], __half2float(k_weight[i]));
        __threadfence();
        atomicExch(&state[i], 2);
    }
    while (atomicAdd(&state[i], 0) != 2) {}
    __threadfence();
    __syncthreads();
    long long slot = slots[n], p = positions[n] * 32 + i % 32;
    float y = x[i], t = 0;
    if (h < heads + K) {
        for (int k = 0; k < 64; ++k) t += x[k] * x[k];
        float* w = kept[h < heads ? 0 : 1];
        float other = x[i ^ 32] * atomicAdd(&w[i ^ 32], 0.0f) * sine[p];
        y = rsqrtf(t / 64 + eps) * (x[i] * atomicAdd(&w[i], 0.0f) * cosine[p] + (i < 32 ? -other : other));
    }
    size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
    (h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64)[i] = __float2half(y);
}
