// grid: ceil(N*(G+2)*K/6)
// block: 96
// Tiles of 16 lanes by cooperative groups, a head each, four elements per lane.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
__global__ void rotary(const __half* qkv, const float* cosine, const float* sine, const __half* q_weight,
    const __half* k_weight, const long long* positions, const long long* slots, __half* q, __half* keys, __half* values,
    int N, int G, int K, int block_size, float eps)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int heads = G * K, all = heads + 2 * K, job = blockIdx.x * 6 + tile.meta_group_rank(), r = tile.thread_rank();
    if (job >= N * all) return;
    const int n = job / all, h = job % all;
    const __half* x = qkv + (size_t)job * 64;
    const long long slot = slots[n];
    const size_t row = (slot / block_size * K + (h - heads + 2 * K) % K) * block_size + slot % block_size;
    __half* to = h < heads ? q + ((size_t)n * heads + h) * 64 : (h < heads + K ? keys : values) + row * 64;
    float t = 0;
    for (int i = r; i < 64; i += 16) t += __half2float(x[i]) * __half2float(x[i]);
    const float scale = rsqrtf(cg::reduce(tile, t, cg::plus<float>()) / 64 + eps);
    const __half* w = h < heads ? q_weight : k_weight;
    for (int i = r; i < 32; i += 16) {
        if (h >= heads + K) {
            to[i] = x[i], to[i + 32] = x[i + 32];
            continue;
        }
        const float c = cosine[positions[n] * 32 + i], s = sine[positions[n] * 32 + i];
        const float u = __half2float(x[i]) * scale * __half2float(w[i]), v = __half2float(x[i + 32]) * scale * __half2float(w[i + 32]);
        to[i] = __float2half(u * c - v * s), to[i + 32] = __float2half(v * c + u * s);
    }
}
