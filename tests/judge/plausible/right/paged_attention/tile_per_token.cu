// grid: 2*K S
// block: 128
// Tiles of 16 lanes, one token each at a time; the eight tiles' results are merged through shared memory.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
struct Seen { float m, l, o[4]; };
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ float tops[8], sums[8], outs[8][64];
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int h = blockIdx.x, s = blockIdx.y, r = tile.thread_rank(), g = tile.meta_group_rank();
    const size_t at = ((size_t)s * 2 * K + h) * 64;
    Seen v = {-1e30f, 0.0f, {}};
    for (int t = g; t < lengths[s]; t += 8) {
        const size_t row = (((size_t)tables[(size_t)s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 64 + 4 * r;
        float x = 0;
        for (int i = 0; i < 4; ++i) x += __half2float(q[at + 4 * r + i]) * __half2float(keys[row + i]);
        x = cg::reduce(tile, x, cg::plus<float>()) * scale;
        const float m = fmaxf(v.m, x), c = expf(v.m - m), p = expf(x - m);
        v.l = v.l * c + p;
        for (int i = 0; i < 4; ++i) v.o[i] = v.o[i] * c + p * __half2float(values[row + i]);
        v.m = m;
    }
    if (r == 0) tops[g] = v.m, sums[g] = v.l;
    for (int i = 0; i < 4; ++i) outs[g][4 * r + i] = v.o[i];
    __syncthreads();
    if (threadIdx.x >= 64) return;
    float m = -1e30f, l = 0, o = 0;
    for (int k = 0; k < 8; ++k) m = fmaxf(m, tops[k]);
    for (int k = 0; k < 8; ++k) {
        const float c = expf(tops[k] - m);
        l += c * sums[k];
        o += c * outs[k][threadIdx.x];
    }
    out[at + threadIdx.x] = __float2half(l > 0.0f ? o / l : 0.0f);
}
