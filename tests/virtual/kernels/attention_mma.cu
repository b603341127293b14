// FlashAttention forward with mma.sync: 64 queries a block, 16 a warp; keys and values come 32 at a time by cp.async
// into two stages and are read by ldmatrix. q, k, v, o: (heads, length, 64) f16; lse: (heads, length).
#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>
constexpr int D = 64, BM = 64, BN = 32, CHUNKS = D / 8;  // a chunk is 16 bytes
__device__ __forceinline__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ int place(int row, int chunk) { return row * D + (chunk ^ row % 8) * 8; }
__device__ __forceinline__ void fetch(half *to, const half *from, bool inside) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(at(to)), "l"(from), "r"(inside ? 16 : 0) : "memory");
}
__device__ __forceinline__ void load4(unsigned (&r)[4], const half *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(p)) : "memory");
}
__device__ __forceinline__ void load4_transposed(unsigned (&r)[4], const half *p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(p)) : "memory");
}
__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ unsigned pack(float a, float b) {
    half2 h = __floats2half2_rn(a, b); return *(unsigned *)&h;
}

extern "C" __global__ void __launch_bounds__(128)
attention(const half *q, const half *k, const half *v, half *o, float *lse, int length, float scale, int causal) {
    __shared__ __align__(128) half qs[BM * D], ks[2][BN * D], vs[2][BN * D];
    int t = threadIdx.x, warp = t / 32, lane = t % 32, first = blockIdx.x * BM;
    const size_t head = (size_t)blockIdx.y * length * D;
    int steps = (causal ? min(length, first + BM) : length) + BN - 1;
    steps /= BN;
    auto bring = [&](int step) {
        for (int i = t; i < BN * CHUNKS; i += 128) {
            int row = i / CHUNKS, chunk = i % CHUNKS, key = step * BN + row;
            size_t from = head + (size_t)min(key, length - 1) * D + chunk * 8;
            fetch(&ks[step % 2][place(row, chunk)], k + from, key < length);
            fetch(&vs[step % 2][place(row, chunk)], v + from, key < length);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (int i = t; i < BM * CHUNKS; i += 128) {
        int row = i / CHUNKS, chunk = i % CHUNKS, query = first + row;
        fetch(&qs[place(row, chunk)], q + head + (size_t)min(query, length - 1) * D + chunk * 8, query < length);
    }
    bring(0);
    float out[8][4] = {}, top[2] = {-INFINITY, -INFINITY}, weight[2] = {};
    unsigned qf[4][4];
    for (int step = 0; step < steps; ++step) {
        if (step + 1 < steps) {
            bring(step + 1);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        if (step == 0)
            for (int j = 0; j < 4; ++j) load4(qf[j], &qs[place(warp * 16 + lane % 16, 2 * j + lane / 16)]);
        const half *kt = ks[step % 2], *vt = vs[step % 2];
        float s[4][4] = {};
        for (int j = 0; j < 4; ++j)
            for (int n = 0; n < 2; ++n) {  // 16 keys
                unsigned b[4];
                load4(b, &kt[place(n * 16 + lane % 8 + lane / 16 * 8, 2 * j + lane / 8 % 2)]);
                mma(s[2 * n], qf[j], b[0], b[1]);
                mma(s[2 * n + 1], qf[j], b[2], b[3]);
            }
        for (int half_ = 0; half_ < 2; ++half_) {
            int query = first + warp * 16 + lane / 4 + half_ * 8;
            float most = top[half_];
            for (int n = 0; n < 4; ++n)
                for (int e = 0; e < 2; ++e) {
                    int key = step * BN + n * 8 + lane % 4 * 2 + e;
                    float &x = s[n][half_ * 2 + e];
                    x = key < length && (!causal || key <= query) ? x * scale : -INFINITY;
                    most = fmaxf(most, x);
                }
            most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
            most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
            float shrink = most == -INFINITY ? 1 : exp2f((top[half_] - most) * 1.44269504f), sum = 0;
            for (int n = 0; n < 4; ++n)
                for (int e = 0; e < 2; ++e) {
                    float &x = s[n][half_ * 2 + e];
                    x = most == -INFINITY ? 0 : exp2f((x - most) * 1.44269504f);
                    sum += x;
                }
            weight[half_] = weight[half_] * shrink + sum;
            top[half_] = most;
            for (int n = 0; n < 8; ++n) { out[n][half_ * 2] *= shrink; out[n][half_ * 2 + 1] *= shrink; }
        }
        for (int j = 0; j < 2; ++j) {  // 16 keys
            unsigned p[4] = {pack(s[2 * j][0], s[2 * j][1]), pack(s[2 * j][2], s[2 * j][3]),
                             pack(s[2 * j + 1][0], s[2 * j + 1][1]), pack(s[2 * j + 1][2], s[2 * j + 1][3])};
            for (int n = 0; n < 4; ++n) {  // 16 columns
                unsigned b[4];
                load4_transposed(b, &vt[place(j * 16 + lane % 16, 2 * n + lane / 16)]);
                mma(out[2 * n], p, b[0], b[1]);
                mma(out[2 * n + 1], p, b[2], b[3]);
            }
        }
        __syncthreads();  // before the stage is filled again
    }
    for (int half_ = 0; half_ < 2; ++half_) {
        weight[half_] += __shfl_xor_sync(~0u, weight[half_], 1);
        weight[half_] += __shfl_xor_sync(~0u, weight[half_], 2);
        int query = first + warp * 16 + lane / 4 + half_ * 8;
        if (query >= length) continue;
        if (lane % 4 == 0) lse[blockIdx.y * length + query] = top[half_] + logf(weight[half_]);
        for (int n = 0; n < 8; ++n)
            *(half2 *)&o[head + (size_t)query * D + n * 8 + lane % 4 * 2] =
                __floats2half2_rn(out[n][half_ * 2] / weight[half_], out[n][half_ * 2 + 1] / weight[half_]);
    }
}
