// K in sixteens: rows are read 16 bytes at a time, whatever address they begin at.
//
// entry: matmul_fp8_k_in_sixteens
// block: 32 8
// grid: ceil(N/32) ceil(M/8)
// expect: misaligned

#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void matmul_fp8_k_in_sixteens(const unsigned char* A, const unsigned char* B,
                                                    const float* scale_a, const float* scale_b, __half* C,
                                                    int M, int N, int K)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; k += 16) {
        if (k + 16 <= K) {
            const uint4 a = *reinterpret_cast<const uint4*>(A + (size_t)row * K + k);     // <- here
            const uint4 b = *reinterpret_cast<const uint4*>(B + (size_t)column * K + k);  // <- here
            const __nv_fp8_e4m3 *x = reinterpret_cast<const __nv_fp8_e4m3*>(&a);
            const __nv_fp8_e4m3 *y = reinterpret_cast<const __nv_fp8_e4m3*>(&b);
            for (int j = 0; j < 16; ++j) sum += float(x[j]) * float(y[j]);
            continue;
        }
        for (int j = k; j < K; ++j)
            sum += float(reinterpret_cast<const __nv_fp8_e4m3*>(A)[(size_t)row * K + j])
                   * float(reinterpret_cast<const __nv_fp8_e4m3*>(B)[(size_t)column * K + j]);
    }
    C[(size_t)row * N + column] = __float2half(scale_a[row] * scale_b[column] * sum);
}
