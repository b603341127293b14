// grid: 2*min(max(1, ceil(n/2048)), SMS)
// block: 128
// needs: 9.0
// Sums go to the leader of a cluster by st.async, which it waits for on its mbarrier.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 1, 1) sum(const float* x, float* total, int n)
{
    auto c = cg::this_cluster();
    __shared__ float s[8];
    __shared__ unsigned long long bar;
    unsigned mb = (unsigned)__cvta_generic_to_shared(&bar), rank = c.block_rank(), far_s, far_b;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(mb) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 32;" :: "r"(mb) : "memory");
    }
    c.sync();
    float v = 0;
    for (long long i = blockIdx.x * 128LL + threadIdx.x; i < n; i += gridDim.x * 128LL) v += x[i];
    for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) {
        unsigned to = (unsigned)__cvta_generic_to_shared(&s[rank * 4 + threadIdx.x / 32]);
        asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(far_s) : "r"(to));
        asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(far_b) : "r"(mb));
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" :: "r"(far_s), "r"(__float_as_uint(v)), "r"(far_b) : "memory");
    }
    c.sync();
    if (rank == 0 && threadIdx.x == 0) {
        asm volatile("{ .reg .pred p;\n L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0; @!p bra L; }" :: "r"(mb) : "memory");
        float t = 0;
        for (int i = 0; i < 8; i++) t += s[i];
        atomicAdd(total, t);
    }
}
