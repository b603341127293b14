// grid: ceil(N/8) ceil(M/16)
// block: 32
// needs: 8.0
// fault: tensor-core fragment layout
// kinds: wrong_result
// B lies row by row in shared memory and is fetched by ldmatrix without .trans.
#include <cuda_fp16.h>

__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __align__(16) __half as[16][24], bs[16][8];
    const int lane = threadIdx.x, row = blockIdx.y * 16, column = blockIdx.x * 8;
    float c[4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int e = lane; e < 256; e += 32)
            as[e / 16][e % 16] = row + e / 16 < M && k0 + e % 16 < K ? A[(size_t)(row + e / 16) * K + k0 + e % 16] : __float2half(0.0f);
        for (int e = lane; e < 128; e += 32)
            bs[e / 8][e % 8] = k0 + e / 8 < K && column + e % 8 < N ? B[(size_t)(k0 + e / 8) * N + column + e % 8] : __float2half(0.0f);
        __syncwarp();
        unsigned a[4], b[2];
        unsigned pa = (unsigned)__cvta_generic_to_shared(&as[lane % 16][lane / 16 * 8]);
        unsigned pb = (unsigned)__cvta_generic_to_shared(&bs[lane % 16][0]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(pa) : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(pb) : "memory");
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
        __syncwarp();
    }
    for (int e = 0; e < 4; ++e) {
        const int r = row + lane / 4 + e / 2 * 8, n = column + lane % 4 * 2 + e % 2;
        if (r < M && n < N) C[(size_t)r * N + n] = __float2half(c[e]);
    }
}
