// C[z] = A[z] · B[z]ᵀ, persistent and warp-specialised; two blocks of a cluster share the tiles of B by multicast.
// A (Z, M, K), B (Z, N, K), C (Z, M, N). A cluster's tile is 256 x 64: 128 rows a block, 64 rows a consumer warpgroup.
// Warpgroup 0 produces (one thread), 1 and 2 consume; the epilogue goes through shared memory and a tensor copy.
// TYPE: 0 f16, 1 e4m3 with a scale for each row of A and of B, 2 s8 with s32 sums. DYNAMIC: tiles from a counter.
#include "hopper.cuh"
#if TYPE == 0
typedef float Sum; typedef half Out; constexpr int K_BYTES = 2;
WGMMA(float, "m64n64k16", "f32.f16.f16", "f", ", 1, 1, 0, 0")
#elif TYPE == 1
typedef float Sum; typedef half Out; constexpr int K_BYTES = 1;
WGMMA(float, "m64n64k32", "f32.e4m3.e4m3", "f", ", 1, 1")
#else
typedef int Sum; typedef int Out; constexpr int K_BYTES = 1;
WGMMA(int, "m64n64k32", "s32.s8.s8", "r", "")
#endif
constexpr int BM = 128, BN = 64, ROW = 128, STEP = ROW / K_BYTES, STAGES = 3, CLUSTER = 2;
constexpr int STAGE_BYTES = (BM + BN) * ROW;

struct Shared {
    alignas(1024) unsigned char a[STAGES][BM * ROW], b[STAGES][BN * ROW];
    alignas(128) Out staged[2][64][BN];
    word full[STAGES], empty[STAGES], tile_full, tile_empty;
    int tile;
};

struct Scheduler {  // every warp role walks the same tiles
    Shared &s; int *counter; int tile, turn = 0;
    __device__ Scheduler(Shared &s, int *counter) : s(s), counter(counter), tile(blockIdx.x / CLUSTER) {}
    __device__ void fetch(bool leader) {  // the producer of block 0 takes a tile for the cluster
        if (!DYNAMIC || !leader) return;
        wait_for(&s.tile_empty, turn + 1 & 1);
        int next = atomicAdd(counter, 1) + gridDim.x / CLUSTER;
        for (int r = 0; r < CLUSTER; ++r)
            asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                :: "r"(remote(at(&s.tile), r)), "r"(next), "r"(remote(at(&s.tile_full), r)) : "memory");
    }
    __device__ void next(bool one) {  // `one`: the thread that answers for its role
        if (!DYNAMIC) { tile += gridDim.x / CLUSTER; return; }
        wait_for(&s.tile_full, turn & 1);
        tile = s.tile;
        ++turn;
    }
    __device__ void taken() { if (DYNAMIC) arrive_at(&s.tile_empty, 0); }
};

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(384, 1)
gemm(const __grid_constant__ Map a, const __grid_constant__ Map b, const __grid_constant__ Map c,
     const float *scale_a, const float *scale_b, int *counter, int Z, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared &s = *(Shared *)raw;
    int group = threadIdx.x / 128, t = threadIdx.x % 128, rank = cluster_rank();
    int rows = (M + BM * CLUSTER - 1) / (BM * CLUSTER), columns = (N + BN - 1) / BN, steps = (K + STEP - 1) / STEP;
    int tiles = Z * rows * columns;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) { init(&s.full[i], 1); init(&s.empty[i], 2 * CLUSTER); }
        init(&s.tile_full, 1);
        init(&s.tile_empty, 3 * CLUSTER);
        fence_init();
    }
    cluster_sync();
    Scheduler at_work(s, counter);
    int turn = 0;  // of the ring
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t == 0)
            while (at_work.tile < tiles) {
                if (DYNAMIC) expect(&s.tile_full, 4);
                at_work.fetch(rank == 0);
                int z = at_work.tile / (rows * columns), r = at_work.tile / columns % rows, q = at_work.tile % columns;
                for (int i = 0; i < steps; ++i, ++turn) {
                    int stage = turn % STAGES;
                    wait_for(&s.empty[stage], turn / STAGES + 1 & 1);
                    expect(&s.full[stage], STAGE_BYTES);
                    bring(s.a[stage], &a, i * STEP, (r * CLUSTER + rank) * BM, z, &s.full[stage]);
                    bring_to(s.b[stage] + rank * BN / CLUSTER * ROW, &b, i * STEP, q * BN + rank * BN / CLUSTER, z,
                             &s.full[stage], 3);
                }
                at_work.next(true);
                at_work.taken();
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        int half_ = group - 1;
        while (at_work.tile < tiles) {
            int z = at_work.tile / (rows * columns), r = at_work.tile / columns % rows, q = at_work.tile % columns;
            Sum d[32];
            for (int i = 0; i < steps; ++i, ++turn) {
                int stage = turn % STAGES;
                wait_for(&s.full[stage], turn / STAGES & 1);
                wgmma_fence();
                for (int part = 0; part < 4; ++part)
                    multiply(d, descriptor(s.a[stage] + half_ * 64 * ROW + 32 * part),
                             descriptor(s.b[stage] + 32 * part), i + part > 0);
                wgmma_commit();
                wgmma_wait<0>();
                if (t < CLUSTER) arrive_at(&s.empty[stage], t);
            }
            if (t == 0) put_read();
            meet(1 + half_, 128);  // the tile before has left
            int row = t / 32 * 16 + t % 32 / 4, top = (r * CLUSTER + rank) * BM + half_ * 64;
            for (int i = 0; i < 32; ++i) {
                int y = row + i / 2 % 2 * 8, x = i / 4 * 8 + t % 4 * 2 + i % 2;
                Sum v = d[i];
                if (TYPE == 1 && top + y < M && q * BN + x < N) v *= scale_a[z * M + top + y] * scale_b[z * N + q * BN + x];
                s.staged[half_][y][x] = (Out)v;
            }
            proxy_fence();
            meet(1 + half_, 128);
            if (t == 0) put(s.staged[half_], &c, q * BN, top, z);
            at_work.next(t == 0);
            meet(1 + half_, 128);
            if (t == 0) at_work.taken();
        }
        if (t == 0) put_done();
    }
    cluster_sync();
}
