// 04 mma pipeline: implicit GEMM; windows come straight into place by cp.async, four stages of them on their way.
//
// Moves: waiting, and shared reads. Which pixel and tap a thread's copies belong to is worked out once; from stage to
//   stage only the channel moves on, and the tap where channels end. Three stages are on their way while one is
//   multiplied. No bank conflicts, without a byte of padding; and sums go from registers to the images.
// Mapping: 8 warps, 2 down and 4 across 128 pixels times 128 output channels, 64x32 each. Of each 16x8 piece lane l has
//   rows l / 4 and l / 4 + 8, columns 2 (l % 4) and the next. 16 bytes are a chunk; chunk c of row r lies at place
//   c ^ (r / 2 % 4) in rows of 64 bytes: the 8 rows that ldmatrix reads at a time lie in different banks.
//
// entry: convolution_half_mma_pipeline
// block: 256
// grid: ceil(N*H*W/128) ceil(K/128)
// shared: 4*2*(128*32+128*32)
// needs: 8.0

#include <cuda_fp16.h>

constexpr int BM = 128, BN = 128;  // pixels and output channels per block
constexpr int BK = 32;             // columns of the windows' matrix per stage
constexpr int STAGES = 4;
constexpr int THREADS = 256;
constexpr int DOWN = 64, ACROSS = 32;  // pixels and output channels per warp
constexpr int CHUNKS = BK / 8;     // of 16 bytes, in a row
constexpr int EACH = BM * CHUNKS / THREADS;  // chunks of windows that a thread brings for a stage

struct Stage {
    __half windows[BM * BK];
    __half filters[BN * BK];
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// Where chunk c of row r lies in a stage, in halves.
__device__ __forceinline__ int place(int r, int c) { return (r * CHUNKS + (c ^ (r / 2 % 4))) * 8; }

// Ask for a chunk, or for zeros.
__device__ __forceinline__ void fetch8(__half* to, const __half* from, bool inside)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 ::"r"(address(to)), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

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

// A pixel whose window a thread brings a part of. Behind the last one: no row is inside.
struct Pixel {
    const __half* elements;
    int y, x;
};

extern "C" __global__ void __launch_bounds__(THREADS, 1)
convolution_half_mma_pipeline(const __half* __restrict__ images, const __half* __restrict__ weights,
                              __half* __restrict__ convolved, int N, int H, int W, int C, int K)
{
    extern __shared__ __align__(128) unsigned char memory[];
    Stage* stages = reinterpret_cast<Stage*>(memory);
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const long long first_pixel = (long long)blockIdx.x * BM, pixels = (long long)N * H * W;
    const int first_out = blockIdx.y * BN, columns = 9 * C;
    const int down = warp / 4 * DOWN, across = warp % 4 * ACROSS;  // the warp's piece of the tile
    const bool vectors = C % 8 == 0 && (((size_t)images | (size_t)weights) & 15) == 0;

    Pixel mine[EACH];
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        const long long pixel = first_pixel + t / CHUNKS + i * (THREADS / CHUNKS);
        mine[i] = {images + pixel * C, pixel < pixels ? (int)(pixel / W % H) : -3, (int)(pixel % W)};
    }
    const auto inside = [&](const Pixel& p, int tap) {
        const int y = p.y + tap / 3 - 1, x = p.x + tap % 3 - 1;
        return tap < 9 && y >= 0 && y < H && x >= 0 && x < W;
    };
    const auto tap_away = [&](int tap) { return ((long long)(tap / 3 - 1) * W + tap % 3 - 1) * C; };

    int tap = 0, channel = t % CHUNKS * 8;  // of the thread's chunk in the stage that is fetched next
    const auto fetch = [&](int step) {
        Stage& stage = stages[step % STAGES];
        const int start = step * BK, q = start + t % CHUNKS * 8;
        if (start < columns && vectors) {
            for (; channel >= C; channel -= C) ++tap;
            const long long away = tap_away(tap) + channel;
#pragma unroll
            for (int i = 0; i < EACH; ++i) {
                const int r = t / CHUNKS + i * (THREADS / CHUNKS);
                fetch8(&stage.windows[place(r, t % CHUNKS)], mine[i].elements + away, inside(mine[i], tap));
                const bool there = first_out + r < K && q < columns;
                fetch8(&stage.filters[place(r, t % CHUNKS)], weights + (size_t)(first_out + r) * columns + q, there);
            }
            channel += BK;
        } else if (start < columns) {
#pragma unroll 1
            for (int j = 0; j < 8; ++j) {
                const int tap = (q + j) / C, channel = (q + j) % C;
#pragma unroll
                for (int i = 0; i < EACH; ++i) {
                    const int r = t / CHUNKS + i * (THREADS / CHUNKS), at = place(r, t % CHUNKS) + j;
                    const bool there = first_out + r < K && q + j < columns;
                    const __half* filter = weights + (size_t)(first_out + r) * columns + q + j;
                    stage.filters[at] = there ? *filter : __half(0.0f);
                    const __half* pixel = mine[i].elements + tap_away(tap) + channel;
                    stage.windows[at] = inside(mine[i], tap) ? *pixel : __half(0.0f);
                }
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };

    float sum[DOWN / 16][ACROSS / 8][4] = {};
#pragma unroll 1
    for (int step = 1 - STAGES; step * BK < columns; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();  // the stage is there for all, and all have left the one that is filled next
        fetch(step + STAGES - 1);
        if (step < 0) continue;  // the first stages are on their way only
        const Stage& stage = stages[step % STAGES];
#pragma unroll
        for (int k = 0; k < CHUNKS; k += 2) {
            unsigned int a[DOWN / 16][4], b[ACROSS / 16][4];
#pragma unroll
            for (int i = 0; i < DOWN / 16; ++i)
                ldmatrix(a[i], &stage.windows[place(down + 16 * i + lane % 16, k + lane / 16)]);
#pragma unroll
            for (int j = 0; j < ACROSS / 16; ++j)
                ldmatrix(b[j], &stage.filters[place(across + 16 * j + lane / 16 * 8 + lane % 8, k + lane / 8 % 2)]);
#pragma unroll
            for (int i = 0; i < DOWN / 16; ++i) {
#pragma unroll
                for (int j = 0; j < ACROSS / 8; ++j) mma(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
            }
        }
    }

    const bool pairs = K % 2 == 0 && ((size_t)convolved & 3) == 0;
#pragma unroll
    for (int i = 0; i < DOWN / 16; ++i) {
#pragma unroll
        for (int e = 0; e < 4; e += 2) {
            const long long pixel = first_pixel + down + 16 * i + lane / 4 + 4 * e;
            if (pixel >= pixels) continue;
#pragma unroll
            for (int j = 0; j < ACROSS / 8; ++j) {
                const int k = first_out + across + 8 * j + 2 * (lane % 4);
                __half* p = convolved + pixel * K + k;
                if (pairs) {
                    if (k < K) *reinterpret_cast<__half2*>(p) = __floats2half2_rn(sum[i][j][e], sum[i][j][e + 1]);
                } else {
                    if (k < K) p[0] = __float2half(sum[i][j][e]);
                    if (k + 1 < K) p[1] = __float2half(sum[i][j][e + 1]);
                }
            }
        }
    }
}
