// Attention in one pass: softmax(scale q k + mask) v with a running maximum; no array of scores is in memory anywhere.
//
// Mapping: a warp has a query; lane l has elements l, l + 32, … of q, of the keys and values in turn, and of the sums. A
//   score is a sum over lanes, by shuffles. 4 warps of a block are neighbouring queries of a head.
//   blockIdx.x: 4 queries each; y: heads of queries; z: batch.
//
// All arrays are read by strides, whose last is that of a head's elements. HEAD_WIDTH and VALUE_WIDTH: elements of a head.
// MASK: 0 none, 1 ELEMENT that is added, 2 bool: what may be seen.
// Query 0 stands at place `past` among the keys, or where `lengths` gives how many of a batch's keys are valid, as many
//   places before their end as there are queries. CAUSAL: a query sees no key behind its place. `left`, `right`: how many
//   keys before and behind its place it sees at most, -1 for all. `softcap`: scores are bent to stay below it, 0 for not.
// EMPTY_ROWS: what a query gives that sees nothing: 0.0f, or NaN as a softmax of -inf alone does.

#include "elements.cuh"

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef MASK
#define MASK 0
#endif
#ifndef EMPTY_ROWS
#define EMPTY_ROWS 0.0f
#endif
#ifndef CAUSAL
#define CAUSAL 0
#endif

constexpr int WARPS = 4;
constexpr int PARTS = (HEAD_WIDTH + 31) / 32;         // elements of q in a lane
constexpr int VALUE_PARTS = (VALUE_WIDTH + 31) / 32;  // of v
constexpr unsigned int ALL_LANES = 0xffffffffu;
#define INFINITE __int_as_float(0x7f800000)

#if MASK == 2
typedef bool Mask;
#else
typedef ELEMENT Mask;
#endif

extern "C" __global__ void __launch_bounds__(32 * WARPS) onnx_attention(
    const ELEMENT* q, long long q_batch, long long q_head, long long q_row, long long q_element,
    const ELEMENT* k, long long k_batch, long long k_head, long long k_row, long long k_element,
    const ELEMENT* v, long long v_batch, long long v_head, long long v_row, long long v_element,
    const Mask* mask, long long m_batch, long long m_head, long long m_row, long long m_column,
    ELEMENT* out, long long o_batch, long long o_head, long long o_row, long long o_element,
    const long long* lengths, int queries, int keys, int group, int past, int left, int right, float softcap, float scale)
{
    const int query = blockIdx.x * WARPS + threadIdx.x / 32, head = blockIdx.y, batch = blockIdx.z;
    const int lane = threadIdx.x % 32;
    if (query >= queries) return;  // whole warps
    q += batch * q_batch + head * q_head + query * q_row;
    k += batch * k_batch + head / group * k_head;
    v += batch * v_batch + head / group * v_head;
    out += batch * o_batch + head * o_head + query * o_row;
#if MASK
    mask += batch * m_batch + head * m_head + query * m_row;
#endif
    float own[PARTS], sum[VALUE_PARTS] = {}, largest = -INFINITE, total = 0.0f;
#pragma unroll
    for (int i = 0; i < PARTS; ++i) own[i] = lane + 32 * i < HEAD_WIDTH ? float(q[(lane + 32 * i) * q_element]) : 0.0f;

    const int valid = lengths ? int(lengths[batch]) : keys, place = query + (lengths ? valid - queries : past);
    int seen = min(keys, valid);
    if (CAUSAL) seen = min(seen, place + 1);
    if (right >= 0) seen = min(seen, place + right + 1);
    for (int key = left < 0 ? 0 : max(0, place - left); key < seen; ++key) {
#if MASK == 2
        if (!mask[key * m_column]) continue;
#endif
        float score = 0.0f;
#pragma unroll
        for (int i = 0; i < PARTS; ++i)
            if (lane + 32 * i < HEAD_WIDTH) score += own[i] * float(k[key * k_row + (lane + 32 * i) * k_element]);
        for (int offset = 16; offset > 0; offset /= 2) score += __shfl_xor_sync(ALL_LANES, score, offset);
        score *= scale;
        if (softcap > 0.0f) score = softcap * tanhf(score / softcap);
#if MASK == 1
        score += float(mask[key * m_column]);
#endif
        const float now = fmaxf(largest, score);
        if (now == -INFINITE && score == score) continue;  // NaN goes into the sums, where fmaxf has dropped it
        const float kept = __expf(largest - now), weight = __expf(score - now);
        largest = now;
        total = total * kept + weight;
#pragma unroll
        for (int i = 0; i < VALUE_PARTS; ++i)
            if (lane + 32 * i < VALUE_WIDTH)
                sum[i] = sum[i] * kept + weight * float(v[key * v_row + (lane + 32 * i) * v_element]);
    }
    const float factor = total > 0.0f ? 1.0f / total : EMPTY_ROWS;
#pragma unroll
    for (int i = 0; i < VALUE_PARTS; ++i)
        if (lane + 32 * i < VALUE_WIDTH) out[(lane + 32 * i) * o_element] = ELEMENT(sum[i] * factor);
}
