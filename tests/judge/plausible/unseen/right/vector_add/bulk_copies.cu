// Bulk copies in and out of shared memory with an mbarrier; arrays that do not lie at 16 bytes, and the tail, go by threads.
// grid: max(1, ceil(n/1024))
// block: 128
// needs: 9.0
__device__ __forceinline__ unsigned int at(const void* p) { return (unsigned int)__cvta_generic_to_shared(p); }
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    __shared__ __align__(16) float sa[1024], sb[1024];
    __shared__ unsigned long long bar;
    const long long first = (long long)blockIdx.x * 1024;
    const int count = (int)min(1024ll, (long long)n - first);
    const bool bulk = count == 1024 && (((size_t)a | (size_t)b | (size_t)c) & 15) == 0;
    if (!bulk) {
        for (int i = threadIdx.x; i < count; i += 128) c[first + i] = a[first + i] + b[first + i];
        return;
    }
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&bar)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 8192;" ::"r"(at(&bar)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 4096, [%2];"
                     ::"r"(at(sa)), "l"(a + first), "r"(at(&bar)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 4096, [%2];"
                     ::"r"(at(sb)), "l"(b + first), "r"(at(&bar)) : "memory");
    }
    __syncthreads();
    unsigned int done;
    do asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                    : "=r"(done) : "r"(at(&bar)) : "memory"); while (!done);
    for (int i = threadIdx.x; i < 1024; i += 128) sa[i] += sb[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 4096;" ::"l"(c + first), "r"(at(sa)) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}
