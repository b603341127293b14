// Waits for one too few: a thread asks for its pieces of a tile as four groups, and waits for all but the last.
//
// entry: attention_waits_for_one_too_few
// block: 64
// grid: ceil(Q/64)*G*H
// needs: 8.0
// expect: unwaited_copy

#include <cuda_fp16.h>

constexpr int D = 128, KEYS = 16;

extern "C" __global__ void attention_waits_for_one_too_few(
    const __half* q, const __half* k, const __half* v, __half* out, int H, int G, int Q, int K, int past, float scale)
{
    __shared__ alignas(16) __half keys[KEYS][D], values[KEYS][D];
    const int tiles = (Q + 63) / 64, head = blockIdx.x / tiles, query = blockIdx.x % tiles * 64 + threadIdx.x;
    const size_t row = (size_t)head * Q + min(query, Q - 1);
    k += (size_t)(head / G) * K * D, v += (size_t)(head / G) * K * D;
    const long long edge = (long long)query + past;
    float largest = -INFINITY, total = 0.0f, sum[D];
#pragma unroll 4
    for (int d = 0; d < D; ++d) sum[d] = 0.0f;
    for (int first = 0; first < K; first += KEYS) {
        __syncthreads();
        for (int e = threadIdx.x * 8; e < KEYS * D; e += 64 * 8) {
            const size_t at = (size_t)min(first + e / D, K - 1) * D + e % D;
            const auto to = [](const __half* p) { return static_cast<unsigned int>(__cvta_generic_to_shared(p)); };
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to(&keys[0][0] + e)), "l"(k + at));
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to(&values[0][0] + e)), "l"(v + at));
            asm volatile("cp.async.commit_group;" ::: "memory");
        }
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        for (int i = 0; i < KEYS && first + i < K && first + i <= edge; ++i) {
            float score = 0.0f;
#pragma unroll 4
            for (int d = 0; d < D; ++d) score += __half2float(q[row * D + d]) * __half2float(keys[i][d]);  // <- here
            const float now = fmaxf(largest, score * scale), weight = __expf(score * scale - now);
            const float keep = now == -INFINITY ? 0.0f : __expf(largest - now);
            largest = now;
            total = total * keep + weight;
#pragma unroll 4
        for (int d = 0; d < D; ++d) sum[d] = sum[d] * keep + weight * __half2float(values[i][d]);  // <- here
        }
    }
    if (query >= Q) return;
#pragma unroll 4
    for (int d = 0; d < D; ++d) out[row * D + d] = __float2half(total == 0.0f ? 0.0f : sum[d] / total);
}
