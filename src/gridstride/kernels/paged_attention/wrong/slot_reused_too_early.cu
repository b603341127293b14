// Slot reused too early: the next block is asked for into the slot whose block has not been read yet.
//
// entry: paged_attention_slot_reused_too_early
// block: 32
// grid: K*S
// needs: 9.0
// expect: unwaited_copy

#include <cuda_fp16.h>
#include <math.h>

constexpr int D = 64, GROUP = 2, BLOCK_SIZE = 16, SLOTS = 2, BYTES = BLOCK_SIZE * D * 2;

__device__ unsigned address(const void* shared) { return unsigned(__cvta_generic_to_shared(shared)); }

__device__ void copy(const void* to, const void* from, const void* full)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(address(to)), "l"(from), "n"(BYTES), "r"(address(full)) : "memory");
}

__device__ void wait(const void* full, unsigned parity)
{
    unsigned done;
    do asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                    : "=r"(done) : "r"(address(full)), "r"(parity) : "memory");
    while (!done);
}

extern "C" __global__ void paged_attention_slot_reused_too_early(
    const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out,
    float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ __align__(16) __half2 ring[SLOTS][2][BLOCK_SIZE][D / 2];
    __shared__ unsigned long long full[SLOTS];
    const int s = blockIdx.x / K, kv = blockIdx.x % K, lane = threadIdx.x, length = lengths[s];
    const auto ask = [&](int first) {
        if (lane != 0 || first >= length) return;
        const int slot = first / BLOCK_SIZE % SLOTS;
        const long long at = ((long long)tables[s * table_width + first / BLOCK_SIZE] * K + kv) * BLOCK_SIZE * D;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     ::"r"(address(&full[slot])), "n"(2 * BYTES) : "memory");
        copy(ring[slot][0], keys + at, &full[slot]);
        copy(ring[slot][1], values + at, &full[slot]);
    };
    if (lane == 0)
        for (int i = 0; i < SLOTS; ++i)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&full[i])) : "memory");
    for (int i = 0; i < SLOTS; ++i) ask(i * BLOCK_SIZE);
    __syncwarp();

    float2 query[GROUP], seen[GROUP] = {};
    float top[GROUP], sum[GROUP] = {};
    const long long head = ((long long)s * K + kv) * GROUP;
    for (int g = 0; g < GROUP; ++g) {
        query[g] = __half22float2(reinterpret_cast<const __half2*>(q + (head + g) * D)[lane]);
        top[g] = -INFINITY;
    }
    for (int base = 0, turn = 0; base < length; base += BLOCK_SIZE, ++turn) {
        wait(&full[turn % SLOTS], turn / SLOTS & 1);
        ask(base + SLOTS * BLOCK_SIZE);
        for (int t = 0; t < min(BLOCK_SIZE, length - base); ++t) {
            const float2 key = __half22float2(ring[turn % SLOTS][0][t][lane]);  // <- here
            const float2 value = __half22float2(ring[turn % SLOTS][1][t][lane]);  // <- here
            for (int g = 0; g < GROUP; ++g) {
                float score = (query[g].x * key.x + query[g].y * key.y) * scale;
                for (int offset = 16; offset > 0; offset /= 2) score += __shfl_xor_sync(0xffffffffu, score, offset);
                const float next = fmaxf(top[g], score), keep = __expf(top[g] - next), p = __expf(score - next);
                top[g] = next;
                sum[g] = sum[g] * keep + p;
                seen[g] = {seen[g].x * keep + p * value.x, seen[g].y * keep + p * value.y};
            }
        }
        __syncwarp();
    }
    for (int g = 0; g < GROUP; ++g) {
        const float inverse = sum[g] > 0.0f ? 1.0f / sum[g] : 0.0f;
        reinterpret_cast<__half2*>(out + (head + g) * D)[lane] =
            __floats2half2_rn(seen[g].x * inverse, seen[g].y * inverse);
    }
}
