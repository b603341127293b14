// Scale only in scores: dk without the factor that the score's slope has.
//
// entry: attention_backward_scale_only_in_scores
// block: 64
// grid: ceil(H*(K+G*Q)/64)
// expect: wrong_result

#include <cuda_fp16.h>

constexpr int D = 128;

__device__ float product(const __half* a, const __half* b)
{
    float sum = 0.0f;
    for (int d = 0; d < D; ++d) sum += __half2float(a[d]) * __half2float(b[d]);
    return sum;
}

extern "C" __global__ void attention_backward_scale_only_in_scores(
    const __half* q, const __half* k, const __half* v, const __half* dout, const float* lse, const float* delta,
    float* dq, __half* dk, __half* dv, int H, int G, int Q, int K, int past, float scale)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x, of_query = t - H * K;
    if (of_query >= H * G * Q) return;
    const int head = of_query < 0 ? t / K : of_query / Q / G;
    float first[D] = {}, second[D] = {};
    // A key goes along the queries of its group, a query along the keys of its head.
    const int begin = of_query < 0 ? head * G * Q : of_query, end = of_query < 0 ? (head + 1) * G * Q : of_query + 1;
    for (int i = begin; i < end; ++i) {
        for (int j = of_query < 0 ? t : head * K; j < (of_query < 0 ? t + 1 : (head + 1) * K); ++j) {
            if ((long long)(j % K) > (long long)(i % Q) + past) continue;
            const float weight = expf(scale * product(q + i * D, k + j * D) - lse[i]);
            const float slope = weight * (product(dout + i * D, v + j * D) - delta[i]);
            for (int d = 0; d < D; ++d) {
                first[d] += of_query < 0 ? weight * __half2float(dout[i * D + d]) : slope * __half2float(k[j * D + d]);
                second[d] += slope * __half2float(q[i * D + d]);
            }
        }
    }
    for (int d = 0; d < D; ++d) {
        if (of_query < 0) dv[t * D + d] = __float2half(first[d]), dk[t * D + d] = __float2half(second[d]);
        else dq[of_query * D + d] += scale * first[d];
    }
}
