// fault: expects the bytes of one array: the phase may end when the first half has come
// kinds: unwaited_copy
// grid: ceil(n/512)
// block: 128
// needs: 9.0
#include <cuda/ptx>
#include <cuda/barrier>
namespace ptx = cuda::ptx;
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    __shared__ alignas(128) float sa[512], sb[512];
    __shared__ alignas(8) uint64_t bar;
    int base = blockIdx.x * 512;
    if ((((size_t)a | (size_t)b) & 15) || base + 512 > n) {
        for (int i = base + threadIdx.x; i < min(n, base + 512); i += 128) c[i] = a[i] + b[i];
        return;
    }
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 2048);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, sa, a + base, 2048, &bar);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, sb, b + base, 2048, &bar);
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) ;
    for (int i = threadIdx.x; i < 512; i += 128) c[base + i] = sa[i] + sb[i];
}
