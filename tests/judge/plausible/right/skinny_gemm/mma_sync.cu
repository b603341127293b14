// grid: ceil(N/8) ceil(M/16)
// block: 32
// A warp per 16 x 8 outputs by mma.sync in inline PTX; rows and columns outside are 0, stores are guarded one by one.
#include <cuda_fp16.h>
__global__ void linear_mma(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int g = threadIdx.x / 4, q = threadIdx.x % 4, K = 32 * steps, m0 = blockIdx.y * 16, n = blockIdx.x * 8 + g;
    float d[4] = {};
    for (int k = 2 * q; k < K; k += 16) {
        unsigned a[4], b[2];
        for (int i = 0; i < 4; ++i) {
            const int m = m0 + g + i % 2 * 8;
            a[i] = m < M ? *reinterpret_cast<const unsigned*>(x + (size_t)m * K + k + i / 2 * 8) : 0u;
        }
        for (int i = 0; i < 2; ++i) b[i] = n < N ? *reinterpret_cast<const unsigned*>(weight + (size_t)n * K + k + i * 8) : 0u;
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    for (int i = 0; i < 4; ++i) {
        const int m = m0 + g + i / 2 * 8, c = blockIdx.x * 8 + 2 * q + i % 2;
        if (m < M && c < N) y[(size_t)m * N + c] = __float2half(d[i] + __half2float(bias[c]));
    }
}
