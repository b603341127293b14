// fault: expects a's bytes only; b is copied second, so the phase ends when a has come and b may still be under way
// kinds: unwaited_copy
// grid: min(ceil(n/256)+1,SMS)
// block: 64
// needs: 9.0
#include <cuda/ptx>
#include <cuda/barrier>
namespace ptx = cuda::ptx;
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    __shared__ alignas(128) float sa[256], sb[256];
    __shared__ alignas(8) uint64_t bar;
    bool aligned = (((size_t)a | (size_t)b) & 15) == 0;
    for (int base = blockIdx.x * 256; base < n; base += gridDim.x * 256) {
        if (!aligned || base + 256 > n) {
            for (int i = base + threadIdx.x; i < min(n, base + 256); i += 64) c[i] = a[i] + b[i];
            continue;
        }
        if (threadIdx.x == 0) {
            ptx::mbarrier_init(&bar, 1);
            ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof(sa));
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, sa, a + base, sizeof(sa), &bar);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, sb, b + base, sizeof(sb), &bar);
        }
        __syncthreads();
        while (!ptx::mbarrier_try_wait_parity(&bar, 0)) ;
        for (int i = threadIdx.x; i < 256; i += 64) c[base + i] = sa[i] + sb[i];
        __syncthreads();
    }
}
