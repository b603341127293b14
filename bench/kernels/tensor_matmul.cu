// C = A · B of n × n bf16 matrices, f32 sums, n a multiple of 128: a block makes 128 × 128, each of its four warps
// 64 × 64, from shared memory by ldmatrix and mma.sync. Rows in shared memory are padded by 16 bytes, so that the eight
// rows of an 8 × 8 matrix lie in different banks.
#include <cuda_bf16.h>

constexpr int TILE = 128, DEPTH = 32, PART = 64, PAD = 8;

__device__ unsigned at(const void *p) { return __cvta_generic_to_shared(p); }

__device__ void load_a(unsigned (&r)[4], const __nv_bfloat16 *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(p)));
}

__device__ void load_b(unsigned (&r)[4], const __nv_bfloat16 *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(p)));
}

__device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void tensor_matmul(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int n) {
    __shared__ __align__(16) __nv_bfloat16 sa[TILE][DEPTH + PAD], sb[DEPTH][TILE + PAD];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = warp / 2 * PART, column = warp % 2 * PART;
    int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    float d[4][8][4] = {};
    for (int k = 0; k < n; k += DEPTH) {
        for (int i = threadIdx.x; i < TILE * DEPTH / 8; i += blockDim.x) {
            int ya = i / (DEPTH / 8), xa = i % (DEPTH / 8) * 8, yb = i / (TILE / 8), xb = i % (TILE / 8) * 8;
            *(int4 *)&sa[ya][xa] = *(const int4 *)&a[(top + ya) * n + k + xa];
            *(int4 *)&sb[yb][xb] = *(const int4 *)&b[(k + yb) * n + left + xb];
        }
        __syncthreads();
        for (int inner = 0; inner < DEPTH; inner += 16) {
            unsigned x[4][4], y[4][4];
            for (int j = 0; j < 4; j++) {
                load_a(x[j], &sa[row + 16 * j + lane % 16][inner + lane / 16 * 8]);
                load_b(y[j], &sb[inner + lane % 16][column + 16 * j + lane / 16 * 8]);
            }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 8; j++) multiply(d[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++)
            for (int q = 0; q < 4; q++) {
                int y = top + row + 16 * i + lane / 4 + q / 2 * 8, x = left + column + 8 * j + lane % 4 * 2 + q % 2;
                c[y * n + x] = d[i][j][q];
            }
}
