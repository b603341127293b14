// FlashAttention forward for Hopper: a producer warp brings keys and values by tensor copies, two consumer warpgroups
// with 64 queries each take turns at the tensor cores (ping-pong by named barriers): while one multiplies, the other
// exponentiates. q, k, v, o: (heads, length, 64) f16. Grid (queries / 128, heads), 384 threads.
#include "hopper.cuh"
WGMMA(float, "m64n64k16", "f32.f16.f16", "f", ", 1, 1, 0, 0")
__device__ __forceinline__ void multiply_registers(float (&d)[32], const unsigned (&a)[4], uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " REGISTERS ", {%32, %33, %34, %35}, %36, "
                 "1, 1, 1, 1;" : D32("f") : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
constexpr int BM = 128, BN = 64, ROW = 128, STAGES = 2, TILE = BN * ROW;
struct Shared {
    alignas(1024) unsigned char q[BM * ROW], k[STAGES][TILE], v[STAGES][TILE];
    word q_full, k_full[STAGES], v_full[STAGES], k_empty[STAGES], v_empty[STAGES];
};

extern "C" __global__ void __launch_bounds__(384, 1)
attention(const __grid_constant__ Map q, const __grid_constant__ Map k, const __grid_constant__ Map v,
          const __grid_constant__ Map o, int length, float scale) {
    extern __shared__ __align__(1024) unsigned char raw[];
    Shared &s = *(Shared *)raw;
    int group = threadIdx.x / 128, t = threadIdx.x % 128, head = blockIdx.y, first = blockIdx.x * BM;
    int steps = (length + BN - 1) / BN;
    if (threadIdx.x == 0) {
        init(&s.q_full, 1);
        for (int i = 0; i < STAGES; ++i) {
            init(&s.k_full[i], 1); init(&s.v_full[i], 1); init(&s.k_empty[i], 2); init(&s.v_empty[i], 2);
        }
        fence_init();
    }
    __syncthreads();
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t != 0) return;
        expect(&s.q_full, BM * ROW);
        bring(s.q, &q, 0, first, head, &s.q_full);
        for (int i = 0; i < steps; ++i) {
            int stage = i % STAGES, parity = i / STAGES + 1 & 1;
            wait_for(&s.k_empty[stage], parity);
            expect(&s.k_full[stage], TILE);
            bring(s.k[stage], &k, 0, i * BN, head, &s.k_full[stage]);
            wait_for(&s.v_empty[stage], parity);
            expect(&s.v_full[stage], TILE);
            bring(s.v[stage], &v, 0, i * BN, head, &s.v_full[stage]);
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    int me = group - 1;
    unsigned char *mine = s.q + me * 64 * ROW;
    float out[32] = {}, scores[32], top[2] = {-INFINITY, -INFINITY}, weight[2] = {};
    if (me == 1) asm volatile("bar.arrive 1, 256;" ::: "memory");  // the first turn is group 1's
    wait_for(&s.q_full, 0);
    for (int i = 0; i < steps; ++i) {
        int stage = i % STAGES, parity = i / STAGES & 1;
        wait_for(&s.k_full[stage], parity);
        meet(1 + me, 256);  // my turn
        wgmma_fence();
        for (int part = 0; part < 4; ++part)
            multiply(scores, descriptor(mine + 32 * part), descriptor(s.k[stage] + 32 * part), part);
        wgmma_commit();
        if (i + 1 < steps || me == 0) asm volatile("bar.arrive %0, 256;" :: "r"(2 - me) : "memory");
        wgmma_wait<0>();
        if (t == 0) arrive(&s.k_empty[stage]);
        unsigned p[4][4];
        for (int half_ = 0; half_ < 2; ++half_) {
            float most = top[half_];
            for (int j = 0; j < 32; ++j)
                if (j / 2 % 2 == half_) {
                    int key = i * BN + j / 4 * 8 + t % 4 * 2 + j % 2;
                    scores[j] = key < length ? scores[j] * scale : -INFINITY;
                    most = fmaxf(most, scores[j]);
                }
            most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
            most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
            float shrink = exp2f((top[half_] - most) * 1.44269504f), sum = 0;
            for (int j = 0; j < 32; ++j)
                if (j / 2 % 2 == half_) {
                    scores[j] = exp2f((scores[j] - most) * 1.44269504f);
                    sum += scores[j];
                    out[j] *= shrink;
                }
            weight[half_] = weight[half_] * shrink + sum;
            top[half_] = most;
        }
        for (int part = 0; part < 4; ++part)
            for (int j = 0; j < 4; ++j) {
                half2 h = __floats2half2_rn(scores[part * 8 + j * 2], scores[part * 8 + j * 2 + 1]);
                p[part][j] = *(unsigned *)&h;
            }
        wait_for(&s.v_full[stage], parity);
        wgmma_fence();
        for (int part = 0; part < 4; ++part)  // 16 keys are 16 rows of V
            multiply_registers(out, p[part], descriptor(s.v[stage] + part * 16 * ROW));
        wgmma_commit();
        wgmma_wait<0>();
        if (t == 0) arrive(&s.v_empty[stage]);
    }
    for (int half_ = 0; half_ < 2; ++half_) {
        weight[half_] += __shfl_xor_sync(~0u, weight[half_], 1);
        weight[half_] += __shfl_xor_sync(~0u, weight[half_], 2);
    }
    // The warpgroup's own rows of Q are read no more: the result leaves through them, under the same swizzle.
    for (int j = 0; j < 32; j += 2) {
        int half_ = j / 2 % 2, row = t / 32 * 16 + t % 32 / 4 + half_ * 8;
        *(half2 *)(mine + row * ROW + ((j / 4 ^ row % 8) * 16) + t % 4 * 4) =
            __floats2half2_rn(out[j] / weight[half_], out[j + 1] / weight[half_]);
    }
    proxy_fence();
    meet(3 + me, 128);
    if (t == 0) { put(mine, &o, 0, first + me * 64, head); put_done(); }
}
