// grid: S*K*3
// block: 64
// fault: race
// kinds: race
// No __threadfence between storing a part and counting it as arrived: the last block may read parts that are not there yet (weak memory; every size).

#include <cuda_fp16.h>

// Three blocks share a sequence's tokens for one head of keys; the last of them to arrive puts their parts together.
__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                                __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int part = blockIdx.x % 3, pair = blockIdx.x / 3, s = pair / K, kv = pair % K;
    const int lane = threadIdx.x % 32, head = 2 * kv + threadIdx.x / 32, length = lengths[s];
    const size_t row = (size_t)s * 2 * K + head;
    const float q0 = __half2float(q[row * 64 + lane]), q1 = __half2float(q[row * 64 + lane + 32]);
    float largest = -INFINITY, sum = 0.0f, v0 = 0.0f, v1 = 0.0f;
    for (int t = part; t < length; t += 3) {
        const size_t at = (((size_t)tables[s * table_width + t / 16] * K + kv) * 16 + t % 16) * 64;
        float score = q0 * __half2float(keys[at + lane]) + q1 * __half2float(keys[at + lane + 32]);
        for (int d = 16; d > 0; d >>= 1) score += __shfl_xor_sync(0xffffffffu, score, d);
        score *= scale;
        const float next = fmaxf(largest, score);
        const float shrink = largest == next ? 1.0f : expf(largest - next), p = score == -INFINITY ? 0.0f : expf(score - next);
        sum = sum * shrink + p;
        v0 = v0 * shrink + p * __half2float(values[at + lane]);
        v1 = v1 * shrink + p * __half2float(values[at + lane + 32]);
        largest = next;
    }
    float* mine = partial + (row * 3 + part) * 66;
    mine[lane] = v0;
    mine[lane + 32] = v1;
    if (lane == 0) {
        mine[64] = largest;
        mine[65] = sum;
    }
    __shared__ int before;
    __syncthreads();
    if (threadIdx.x == 0) before = atomicAdd(&arrived[pair], 1);
    __syncthreads();
    if (before != 2) return;
    if (threadIdx.x == 0) arrived[pair] = 0;
    const volatile float* parts = partial + row * 3 * 66;
    largest = fmaxf(parts[64], fmaxf(parts[66 + 64], parts[132 + 64]));
    sum = v0 = v1 = 0.0f;
    for (int p = 0; p < 3; ++p) {
        if (parts[p * 66 + 65] == 0.0f) continue;              // no tokens
        const float f = expf(parts[p * 66 + 64] - largest);
        sum += f * parts[p * 66 + 65];
        v0 += f * parts[p * 66 + lane];
        v1 += f * parts[p * 66 + lane + 32];
    }
    out[row * 64 + lane] = __float2half(length > 0 ? v0 / sum : 0.0f);
    out[row * 64 + lane + 32] = __float2half(length > 0 ? v1 / sum : 0.0f);
}
