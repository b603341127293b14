// Missing wait: a weight row is read while its bulk copy is still on its way.
//
// entry: skinny_gemm_missing_wait
// block: 32
// grid: N M
// shared: 64*steps
// expect: unwaited_copy

#include <cuda_fp16.h>

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

extern "C" __global__ void skinny_gemm_missing_wait(
    const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    extern __shared__ __align__(16) __half row[];
    __shared__ unsigned long long barrier;
    const int n = blockIdx.x, m = blockIdx.y, K = 32 * steps, bytes = 2 * K;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;"
                     ::"r"(address(&barrier)) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&barrier)), "r"(bytes)
                     : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     ::"r"(address(row)), "l"(weight + (size_t)n * K), "r"(bytes), "r"(address(&barrier)) : "memory");
    }
    __syncthreads();
    float sum = 0.0f;
    for (int k = threadIdx.x; k < K; k += 32)
        sum += __half2float(x[(size_t)m * K + k]) * __half2float(row[k]);  // <- here
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0) y[(size_t)m * N + n] = __float2half(sum + __half2float(bias[n]));
}
