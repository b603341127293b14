// grid: ceil(N/16) ceil(M/16)
// block: 64
// Ldmatrix and mma.sync
#include <cuda_fp16.h>
__global__ void matmul_half(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __align__(16) __half a[16][16], b[16][16];
    int i = blockIdx.y * 16, j = blockIdx.x * 16, t = threadIdx.x, w = t / 32, l = t % 32;
    float c[4] = {};
    for (int k = 0; k < K; k += 16) {
        for (int e = t; e < 256; e += 64) {
            int r = e / 16, s = e % 16;
            a[r][s] = i + r < M && k + s < K ? A[(size_t)(i + r) * K + k + s] : __half(0.f);
            b[r][s] = k + r < K && j + s < N ? B[(size_t)(k + r) * N + j + s] : __half(0.f);
        }
        __syncthreads();
        unsigned p[4], q[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(p[0]), "=r"(p[1]), "=r"(p[2]), "=r"(p[3]) : "r"((unsigned)__cvta_generic_to_shared(&a[l % 16][l / 16 * 8])) : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(q[0]), "=r"(q[1]) : "r"((unsigned)__cvta_generic_to_shared(&b[l % 16][w * 8])) : "memory");
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[0]), "r"(q[1]));
        __syncthreads();
    }
    for (int e = 0; e < 4; e++) {
        int r = i + l / 4 + e / 2 * 8, s = j + w * 8 + l % 4 * 2 + e % 2;
        if (r < M && s < N) C[(size_t)r * N + s] = __float2half(c[e]);
    }
}
