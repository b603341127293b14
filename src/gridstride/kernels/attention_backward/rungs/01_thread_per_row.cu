// 01 thread per row: a thread for each row of dk and dv goes along the queries, one for each of dq along the keys.
//
// Moves: nothing yet; two products of 128 elements are made for each query and key, from global memory, and made again
//   for dq: seven products of Q K D instead of five, and a sector for each lane and element.
// Mapping: thread t has key t of all heads, or query t - H K. Sums of 128 elements do not fit into its registers: they
//   lie in local memory.
//
// entry: attention_backward_thread_per_row
// block: 64
// grid: ceil(H*(K+G*Q)/64)

#include <cuda_fp16.h>

#ifndef HEAD_WIDTH
#define HEAD_WIDTH 128
#endif

constexpr int D = HEAD_WIDTH;

__device__ __forceinline__ float product(const __half* a, const __half* b)
{
    float sum = 0.0f;
    for (int d = 0; d < D; ++d) sum += __half2float(a[d]) * __half2float(b[d]);
    return sum;
}

extern "C" __global__ void attention_backward_thread_per_row(
    const __half* q, const __half* k, const __half* v, const __half* dout, const float* lse, const float* delta,
    float* dq, __half* dk, __half* dv, int H, int G, int Q, int K, int past, float scale)
{
    const long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x, keys = (long long)H * K;
    if (t >= keys + (long long)H * G * Q) return;
    float first_sum[D], second_sum[D];
    for (int d = 0; d < D; ++d) first_sum[d] = second_sum[d] = 0.0f;
    if (t < keys) {
        const int head = (int)(t / K), key = (int)(t % K);
        const int first = (int)max(0ll, min((long long)Q, (long long)key - past));  // query that sees the key
        for (int g = head * G; g < (head + 1) * G; ++g) {
            for (int i = first; i < Q; ++i) {
                const size_t row = (size_t)g * Q + i;
                const float weight = expf(scale * product(q + row * D, k + t * D) - lse[row]);
                const float ds = weight * (product(dout + row * D, v + t * D) - delta[row]);
                for (int d = 0; d < D; ++d) {
                    first_sum[d] += weight * __half2float(dout[row * D + d]);
                    second_sum[d] += ds * __half2float(q[row * D + d]);
                }
            }
        }
        for (int d = 0; d < D; ++d) {
            dv[t * D + d] = __float2half(first_sum[d]);
            dk[t * D + d] = __float2half(scale * second_sum[d]);
        }
        return;
    }
    const size_t row = t - keys, head = row / Q / G;
    const int seen = (int)max(0ll, min((long long)K, (long long)(row % Q) + past + 1));
    for (size_t key = head * K; key < head * K + seen; ++key) {
        const float weight = expf(scale * product(q + row * D, k + key * D) - lse[row]);
        const float ds = weight * (product(dout + row * D, v + key * D) - delta[row]);
        for (int d = 0; d < D; ++d) first_sum[d] += ds * __half2float(k[key * D + d]);
    }
    for (int d = 0; d < D; ++d) dq[row * D + d] += scale * first_sum[d];
}
