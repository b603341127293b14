// grid: ceil(N/12)
// block: 96
// Tiles of eight lanes per output, 16 bytes of weights per lane; rows one after the other.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
__global__ void linear_tiles(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    const int n = blockIdx.x * 12 + tile.meta_group_rank(), K = 32 * steps;
    for (int m = 0; m < M; ++m) {
        float s = 0;
        for (int k = tile.thread_rank() * 8; k < K && n < N; k += 64) {
            const uint4 w = *reinterpret_cast<const uint4*>(weight + (size_t)n * K + k);
            const uint4 v = *reinterpret_cast<const uint4*>(x + (size_t)m * K + k);
            const __half2 *a = reinterpret_cast<const __half2*>(&w), *b = reinterpret_cast<const __half2*>(&v);
            for (int i = 0; i < 4; ++i) {
                const float2 p = __half22float2(a[i]), q = __half22float2(b[i]);
                s += p.x * q.x + p.y * q.y;
            }
        }
        s = cg::reduce(tile, s, cg::plus<float>());
        if (tile.thread_rank() == 0 && n < N) y[(size_t)m * N + n] = __float2half(s + __half2float(bias[n]));
    }
}
