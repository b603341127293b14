// Pairs by address: two halves of a row of A are read at once, where an odd K puts every other row between two words.
//
// entry: matmul_half_pairs_by_address
// block: 32 8
// grid: ceil(N/32) ceil(M/8)
// expect: misaligned

#include <cuda_fp16.h>

extern "C" __global__ void matmul_half_pairs_by_address(const __half* A, const __half* B, __half* C,
                                                        int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k + 1 < K; k += 2) {
        const __half2 pair = *reinterpret_cast<const __half2*>(A + (size_t)row * K + k);  // <- here
        sum += __low2float(pair) * __half2float(B[(size_t)k * N + column]);
        sum += __high2float(pair) * __half2float(B[(size_t)(k + 1) * N + column]);
    }
    if (K % 2) sum += __half2float(A[(size_t)row * K + K - 1]) * __half2float(B[(size_t)(K - 1) * N + column]);
    C[(size_t)row * N + column] = __float2half(sum);
}
