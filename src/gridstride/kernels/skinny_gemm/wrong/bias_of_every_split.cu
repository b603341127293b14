// Bias of every split: each block of the cluster adds the bias to its part of the sum.
//
// entry: skinny_gemm_bias_of_every_split
// block: 32
// grid: 4*ceil(N/32) M
// expect: wrong_result

#include <cuda_fp16.h>

#if __CUDA_ARCH__ >= 900
#define CLUSTER __cluster_dims__(4, 1, 1)
#else
#define CLUSTER
#endif

__device__ __forceinline__ float of_rank(const float* sum, int rank)
{
    unsigned int own = static_cast<unsigned int>(__cvta_generic_to_shared(sum)), there;
    float value;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(there) : "memory");
    return value;
}

extern "C" __global__ void CLUSTER skinny_gemm_bias_of_every_split(
    const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    __shared__ float sums[32];
    const int rank = blockIdx.x % 4, n = blockIdx.x / 4 * 32 + threadIdx.x, m = blockIdx.y, K = 32 * steps;
    float sum = 0.0f;
    if (n < N) {
        sum = __half2float(bias[n]);
        for (int k = steps * rank / 4 * 32; k < steps * (rank + 1) / 4 * 32; ++k)
            sum += __half2float(x[(size_t)m * K + k]) * __half2float(weight[(size_t)n * K + k]);
    }
    sums[threadIdx.x] = sum;
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
    if (rank == 0 && n < N) {
        for (int other = 1; other < 4; ++other) sum += of_rank(&sums[threadIdx.x], other);
        y[(size_t)m * N + n] = __float2half(sum);
    }
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}
