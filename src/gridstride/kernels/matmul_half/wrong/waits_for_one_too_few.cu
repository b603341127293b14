// Waits for one too few: two groups of copies are on their way, and the wait leaves both of them.
//
// entry: matmul_half_waits_for_one_too_few
// block: 256
// grid: ceil(N/16) ceil(M/16)
// expect: unwaited_copy

#include <cuda_fp16.h>

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

extern "C" __global__ void matmul_half_waits_for_one_too_few(const __half* A, const __half* B, __half* C,
                                                             int M, int N, int K)
{
    __shared__ __align__(16) __half a[2][16][8];  // 8 steps of k for 16 rows, twice
    const int row = blockIdx.y * 16, column = blockIdx.x * 16 + threadIdx.x % 16, t = threadIdx.x;
    const bool whole = K % 8 == 0 && ((size_t)A & 15) == 0;
    const auto fetch = [&](int start, int slot) {
        if (t < 16 && start < K) {
            const __half* p = A + (size_t)min(row + t, M - 1) * K + start;
            if (whole) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                                    ::"r"(address(a[slot][t])), "l"(p) : "memory");
            else
                for (int j = 0; j < 8; ++j) a[slot][t][j] = start + j < K ? p[j] : __half(0.0f);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    float sum = 0.0f;
    fetch(0, 0);
    for (int start = 0; start < K; start += 8) {
        fetch(start + 8, start / 8 + 1 & 1);
        asm volatile("cp.async.wait_group 2;" ::: "memory");
        __syncthreads();
        for (int k = 0; k < 8 && start + k < K; ++k)
            sum += __half2float(a[start / 8 & 1][t / 16][k])  // <- here
                   * __half2float(B[(size_t)(start + k) * N + min(column, N - 1)]);
        __syncthreads();
    }
    if (row + t / 16 < M && column < N) C[(size_t)(row + t / 16) * N + column] = __float2half(sum);
}
