// grid: 1
// block: 512
// Cooperative groups reduce; one block; ties and NaN by a packed key with zeros made equal.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ unsigned long long s[16];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    unsigned long long k = 0;
    for (int i = threadIdx.x; i < n; i += 512) {
        float v = x[i];
        unsigned u = __float_as_uint(v == 0.f ? 0.f : v);
        u = v != v ? 0xffffffffu : u & 0x80000000u ? ~u : u | 0x80000000u;
        unsigned long long c = (unsigned long long)u << 32 | (0xffffffffu - i);
        k = c > k ? c : k;
    }
    k = cg::reduce(warp, k, cg::greater<unsigned long long>());
    if (warp.thread_rank() == 0) s[warp.meta_group_rank()] = k;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        k = warp.thread_rank() < 16 ? s[warp.thread_rank()] : 0ull;
        k = cg::reduce(warp, k, cg::greater<unsigned long long>());
        if (warp.thread_rank() == 0) *best = 0xffffffffu - (unsigned)k;
    }
}
