// 05 bulk: weights come in bulk copies of half a kilobyte, into a ring of each warp's own.
//
// Moves: instructions that ask for weights, from one per 16 bytes to one per 512; barriers of the block in the loop,
//   from one per 64 columns to none: all of x lies in shared memory. All that a block reads is asked for at its start
//   wherever K / 4 is no more than 512 columns.
// Mapping: as in 04. Warp w fills a ring of two slots of 256 columns with its 16 weight rows, one lane per row, and
//   waits on the slot's mbarrier, which counts bytes; a slot that all lanes have read is filled again with what comes
//   next.
//
// entry: skinny_gemm_bulk
// block: 256
// grid: 4*ceil(N/128) ceil(M/32)
// shared: 8*2*16*(256+8)*2 + 32*(64*ceil(steps/4)+16)

#include <cuda_fp16.h>

#if __CUDA_ARCH__ >= 900
#define CLUSTER __cluster_dims__(SPLITS, 1, 1)
#else
#define CLUSTER  // older chips have neither clusters nor bulk copies: it compiles, and does not run
#endif

constexpr int WARPS = 8;
constexpr int THREADS = 32 * WARPS;
constexpr int TALL = 16 * WARPS;    // weight rows of a block
constexpr int ROWS = 32;            // of x, of a block
constexpr int COLUMNS = 256;        // of a slot
constexpr int PITCH = COLUMNS + 8;  // 16 bytes more: the 8 rows that ldmatrix reads at a time lie in different banks
constexpr int DEPTH = 2;            // slots of a ring
constexpr int SPLITS = 4;           // of K
constexpr int SUMS = TALL + 4;      // floats of a row of sums, padded against bank conflicts

typedef __half Slot[16][PITCH];
static_assert(sizeof(float[ROWS][SUMS]) <= sizeof(Slot[WARPS * DEPTH]), "sums lie where the weights lay");

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// -- copies -----------------------------------------------------------------------------------------------------------
typedef unsigned long long Barrier;

__device__ __forceinline__ void init(Barrier* barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void expect(Barrier* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(barrier)), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void wait(Barrier* barrier, int parity)
{
    unsigned int done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(address(barrier)), "r"(parity) : "memory");
    } while (!done);
    __syncwarp();  // the tensor cores want all lanes at once
}

__device__ __forceinline__ void copy(__half* to, const __half* from, int bytes, Barrier* barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(address(to)), "l"(from), "r"(bytes), "r"(address(barrier)) : "memory");
}

// -- products ---------------------------------------------------------------------------------------------------------
__device__ __forceinline__ void ldmatrix(unsigned int (&r)[4], const __half* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}

__device__ __forceinline__ void mma(float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// -- the cluster ------------------------------------------------------------------------------------------------------
__device__ __forceinline__ void cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

// Four neighbouring sums of all blocks of the cluster, added up in the order of their ranks.
__device__ __forceinline__ float4 total(const float* sums)
{
    float4 all = {};
#pragma unroll
    for (int rank = 0; rank < SPLITS; ++rank) {
        unsigned int there;
        float4 v;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address(sums)), "r"(rank));
        asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(there) : "memory");
        all = {all.x + v.x, all.y + v.y, all.z + v.z, all.w + v.w};
    }
    return all;
}

extern "C" __global__ void CLUSTER __launch_bounds__(THREADS) skinny_gemm_bulk(
    const __half* __restrict__ x, const __half* __restrict__ weight, const __half* __restrict__ bias,
    __half* __restrict__ y, int M, int N, int steps)
{
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ Barrier full[WARPS][DEPTH];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, K = 32 * steps;
    Slot* ring = reinterpret_cast<Slot*>(memory) + warp * DEPTH;
    __half* shared_x = reinterpret_cast<__half*>(reinterpret_cast<Slot*>(memory) + WARPS * DEPTH);
    float* sums = reinterpret_cast<float*>(memory);  // [ROWS][SUMS], when the weights are done with
    const int rank = blockIdx.x % SPLITS, first_row = blockIdx.x / SPLITS * TALL, first_m = blockIdx.y * ROWS;
    const int begin = steps * rank / SPLITS * 32, columns = steps * (rank + 1) / SPLITS * 32 - begin;
    const int parts = (columns + COLUMNS - 1) / COLUMNS, x_pitch = (steps + SPLITS - 1) / SPLITS * 32 + 8;

    // Rows that do not exist are the last one again, and what comes of them is not stored.
    const __half* mine = weight + (size_t)min(first_row + warp * 16 + lane % 16, N - 1) * K + begin;
    const auto feed = [&](int part) {
        const int bytes = 2 * min(COLUMNS, columns - part * COLUMNS);
        Barrier* barrier = &full[warp][part % DEPTH];
        if (lane == 0) expect(barrier, 16 * bytes);
        if (lane < 16) copy(ring[part % DEPTH][lane], mine + part * COLUMNS, bytes, barrier);
    };
    if (lane < DEPTH) init(&full[warp][lane]);
    __syncwarp();
    for (int part = 0; part < min(DEPTH, parts); ++part) feed(part);
    for (int m = warp; m < ROWS; m += WARPS) {
        const __half* row = x + (size_t)min(first_m + m, M - 1) * K + begin;
        for (int k = lane * 8; k < columns; k += 32 * 8)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                         ::"r"(address(shared_x + m * x_pitch + k)), "l"(row + k) : "memory");
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();

    float sum[ROWS / 8][4] = {};
    for (int part = 0; part < parts; ++part) {
        wait(&full[warp][part % DEPTH], part / DEPTH & 1);
        const __half* a_row = ring[part % DEPTH][lane % 16] + lane / 16 * 8;
        const __half* b_row = shared_x + lane % 8 * x_pitch + part * COLUMNS + lane / 8 * 8;
        for (int k = 0; k < min(COLUMNS, columns - part * COLUMNS); k += 32) {
            unsigned int a[2][4], b[4];
            ldmatrix(a[0], a_row + k);
            ldmatrix(a[1], a_row + k + 16);
#pragma unroll
            for (int j = 0; j < ROWS / 8; ++j) {
                ldmatrix(b, b_row + j * 8 * x_pitch + k);
                mma(sum[j], a[0], b[0], b[1]);
                mma(sum[j], a[1], b[2], b[3]);
            }
        }
        __syncwarp();  // all lanes have read the slot
        if (part + DEPTH < parts) feed(part + DEPTH);
    }

    __syncthreads();
#pragma unroll
    for (int j = 0; j < ROWS / 8; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            sums[(j * 8 + lane % 4 * 2 + i % 2) * SUMS + warp * 16 + lane / 4 + i / 2 * 8] = sum[j][i];
    }
    cluster_barrier();
    for (int i = rank * THREADS + threadIdx.x; i < ROWS * TALL / 4; i += SPLITS * THREADS) {
        const int row = i / (TALL / 4), column = i % (TALL / 4) * 4, m = first_m + row, n = first_row + column;
        if (m >= M) break;
        const float4 all = total(sums + row * SUMS + column);
        const float values[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
        for (int e = 0; e < 4; ++e)
            if (n + e < N) y[(size_t)m * N + n + e] = __float2half(values[e] + __half2float(bias[n + e]));
    }
    cluster_barrier();  // nobody leaves while others read its sums
}
