// Missing barrier: weights and slopes are read before the warp that makes them has put them there.
//
// entry: attention_backward_missing_barrier
// block: 128
// grid: ceil(K/32)*H
// expect: race

#include <cuda_fp16.h>

constexpr int D = 128, KEYS = 32;

extern "C" __global__ void attention_backward_missing_barrier(
    const __half* q, const __half* k, const __half* v, const __half* dout, const float* lse, const float* delta,
    float* dq, __half* dk, __half* dv, int H, int G, int Q, int K, int past, float scale)
{
    __shared__ float weight[KEYS], slope[KEYS];
    const int blocks = (K + KEYS - 1) / KEYS, head = blockIdx.x / blocks, first = blockIdx.x % blocks * KEYS;
    const int d = threadIdx.x, key = first + d;
    k += (size_t)head * K * D, v += (size_t)head * K * D, dk += (size_t)head * K * D, dv += (size_t)head * K * D;
    float sum_k[KEYS] = {}, sum_v[KEYS] = {};
    for (int row = head * G * Q; row < (head + 1) * G * Q; ++row) {
        if (d < KEYS) {
            float score = 0.0f, dp = 0.0f;
            for (int c = 0; c < D && key < K; ++c) {
                score += __half2float(q[(size_t)row * D + c]) * __half2float(k[key * D + c]);
                dp += __half2float(dout[(size_t)row * D + c]) * __half2float(v[key * D + c]);
            }
            const bool seen = key < K && key <= (long long)(row % Q) + past;
            const float p = seen ? expf(scale * score - lse[row]) : 0.0f;
            weight[d] = p, slope[d] = p * (dp - delta[row]);  // <- here
        }
        float sum = 0.0f;
        for (int j = 0; j < KEYS; ++j) {
            sum_v[j] += weight[j] * __half2float(dout[(size_t)row * D + d]);  // <- here
            sum_k[j] += slope[j] * __half2float(q[(size_t)row * D + d]);  // <- here
            sum += slope[j] * (first + j < K ? __half2float(k[(first + j) * D + d]) : 0.0f);
        }
        atomicAdd(&dq[(size_t)row * D + d], scale * sum);
        __syncthreads();
    }
    for (int j = 0; j < KEYS && first + j < K; ++j) {
        dk[(first + j) * D + d] = __float2half(scale * sum_k[j]);
        dv[(first + j) * D + d] = __float2half(sum_v[j]);
    }
}
