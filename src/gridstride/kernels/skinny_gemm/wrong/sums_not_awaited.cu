// Sums not awaited: the other blocks send their sums by st.async, and are added up without a wait for the mbarrier.
//
// entry: skinny_gemm_sums_not_awaited
// block: 32
// grid: 4*ceil(N/32) M
// expect: unwaited_copy

#include <cuda_fp16.h>

#if __CUDA_ARCH__ >= 900
#define CLUSTER __cluster_dims__(4, 1, 1)
#else
#define CLUSTER
#endif

__device__ __forceinline__ unsigned int first_blocks(const void* shared)
{
    unsigned int own = static_cast<unsigned int>(__cvta_generic_to_shared(shared)), there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(own));
    return there;
}

__device__ __forceinline__ void meet()
{
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

extern "C" __global__ void CLUSTER skinny_gemm_sums_not_awaited(
    const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    __shared__ float inbox[4][32];
    __shared__ unsigned long long full;
    const int rank = blockIdx.x % 4, n = blockIdx.x / 4 * 32 + threadIdx.x, m = blockIdx.y, K = 32 * steps;
    if (threadIdx.x == 0) {
        const unsigned int barrier = static_cast<unsigned int>(__cvta_generic_to_shared(&full));
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     ::"r"(barrier), "r"((int)sizeof(inbox)) : "memory");
    }
    meet();
    float sum = 0.0f;
    for (int k = steps * rank / 4 * 32; n < N && k < steps * (rank + 1) / 4 * 32; ++k)
        sum += __half2float(x[(size_t)m * K + k]) * __half2float(weight[(size_t)n * K + k]);
    const unsigned int place = first_blocks(&inbox[rank][threadIdx.x]), counter = first_blocks(&full);
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];"
                 ::"r"(place), "f"(sum), "r"(counter) : "memory");
    if (rank == 0 && n < N) {
        sum = 0.0f;
        for (int sender = 0; sender < 4; ++sender) sum += inbox[sender][threadIdx.x];  // <- here
        y[(size_t)m * N + n] = __float2half(sum + __half2float(bias[n]));
    }
    meet();
}
