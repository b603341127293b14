// C = A · Bᵀ with mma.sync: A (M, K), B (N, K) f16, C (M, N) f32. Tiles of 64 x 64, four warps of 32 x 32; steps of 32
// along K come by cp.async through a ring of three stages and are read by ldmatrix.
// SPLIT: 0 none; 1 the blocks of a cluster along z share K, and each adds up a part of the tile from all of them;
// 2 blocks along z share K and add to C one after the other, in order, by a semaphore for each tile.
#include "hopper.cuh"
constexpr int BM = 64, BN = 64, BK = 32, STAGES = 3;
__device__ __forceinline__ int place(int row, int chunk) { return row * BK + (chunk ^ row / 2 % 4) * 8; }
__device__ __forceinline__ void load4(unsigned (&r)[4], const half *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(p)) : "memory");
}
__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(128) gemm(const half *a, const half *b, float *c, int *semaphores, int M, int N, int K) {
    __shared__ __align__(128) half as[STAGES][BM * BK], bs[STAGES][BN * BK];
    int t = threadIdx.x, warp = t / 32, lane = t % 32, m = blockIdx.y * BM, n = blockIdx.x * BN;
    int all = (K + BK - 1) / BK, first = all * blockIdx.z / gridDim.z, steps = all * (blockIdx.z + 1) / gridDim.z - first;
    auto bring = [&](int step) {
        if (step < steps)
            for (int i = t; i < (BM + BN) * 4; i += 128) {
                bool left = i < BM * 4;
                int row = i / 4 % 64, chunk = i % 4, y = (left ? m : n) + row, x = (first + step) * BK + chunk * 8;
                bool inside = y < (left ? M : N) && x < K;
                const half *from = (left ? a : b) + (inside ? (size_t)y * K + x : 0);
                half *to = (left ? as : bs)[step % STAGES] + place(row, chunk);
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                    :: "r"(at(to)), "l"(from), "r"(inside ? 16 : 0) : "memory");
            }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    bring(0);
    bring(1);
    float d[2][4][4] = {};
    int wm = warp / 2 * 32, wn = warp % 2 * 32;
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();  // the step is there, and the stage that is filled next has been read
        bring(step + 2);
        const half *at_ = as[step % STAGES], *bt = bs[step % STAGES];
        for (int k = 0; k < 2; ++k) {
            unsigned fa[2][4], fb[2][4];
            for (int i = 0; i < 2; ++i) {
                load4(fa[i], &at_[place(wm + i * 16 + lane % 16, 2 * k + lane / 16)]);
                load4(fb[i], &bt[place(wn + i * 16 + lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2)]);
            }
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j) mma(d[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
        }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
#if SPLIT == 1
    __shared__ float parts[BM][BN + 4];
    auto put = [&](int y, int x, float v) { parts[y - m][x - n] = v; };
#elif SPLIT == 2
    int *semaphore = &semaphores[blockIdx.y * gridDim.x + blockIdx.x];
    if (t == 0) { while (*(volatile int *)semaphore != blockIdx.z) {} __threadfence(); }
    __syncthreads();  // the blocks before have added their parts
    auto put = [&](int y, int x, float v) { if (y < M && x < N) c[(size_t)y * N + x] += v; };
#else
    auto put = [&](int y, int x, float v) { if (y < M && x < N) c[(size_t)y * N + x] = v; };
#endif
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int e = 0; e < 4; ++e)
                put(m + wm + i * 16 + lane / 4 + e / 2 * 8, n + wn + j * 8 + lane % 4 * 2 + e % 2, d[i][j][e]);
#if SPLIT == 1
    cluster_sync();
    int rows = BM / gridDim.z;
    for (int i = t; i < rows * BN; i += 128) {
        int row = cluster_rank() * rows + i / BN, column = i % BN;
        float sum = 0;
        for (unsigned r = 0; r < gridDim.z; ++r) {
            float v;
            asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(remote(at(&parts[row][column]), r)) : "memory");
            sum += v;
        }
        if (m + row < M && n + column < N) c[(size_t)(m + row) * N + n + column] = sum;
    }
    cluster_sync();  // the others may still read
#elif SPLIT == 2
    __threadfence();
    __syncthreads();
    if (t == 0) *(volatile int *)semaphore = blockIdx.z + 1;
#endif
}
