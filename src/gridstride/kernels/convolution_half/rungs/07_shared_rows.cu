// 07 shared rows: a box with a rim above and below is brought once for the three taps of a column of the filter.
//
// Moves: what the copy engine brings, windows to 1/2.4. A line of a box is a pixel; a row further down in the
//   image is 8 lines further on in a box 8 pixels wide: 1024 bytes, one period of the swizzle. The tensor cores read
//   the second and third tap's windows from the same box, from 1 and 2 KiB further on.
// Mapping: as 06, with a ring for windows and one for filters. Boxes of 8x8 pixels and 2 rows more last three steps;
//   boxes of another shape, where these need fewer, one step each.
//
// entry: convolution_half_shared_rows
// block: 384
// grid: 2*min(max(1,SMS//2),ceil(N*H*W/128)*ceil(K/64))
// shared: 4*2*(128*64+64*256) + 2*2*2*64*64
// needs: 9.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#if __CUDA_ARCH__ >= 900
#define IN_CLUSTERS __cluster_dims__(2, 1, 1)
#else
#define IN_CLUSTERS
#endif
#ifndef BFLOAT16
#define TYPE "f16"
#define ELEMENT_TYPE "6"  // a tensor map's number for it
typedef __half Element;
typedef __half2 Pair;
__device__ __forceinline__ Pair pair(float left, float right) { return __floats2half2_rn(left, right); }
#else
#define TYPE "bf16"
#define ELEMENT_TYPE "10"
typedef __nv_bfloat16 Element;
typedef __nv_bfloat162 Pair;
__device__ __forceinline__ Pair pair(float left, float right) { return __floats2bfloat162_rn(left, right); }
#endif

constexpr int BOX = 64;            // pixels of a warpgroup
constexpr int BK = 64;             // channels per stage: a line of 128 bytes
constexpr int RINGS = 4 * 2 * (2 * BOX * BK + 256 * BK);  // bytes, for as many steps as fit
constexpr int RIM = 2;             // rows of a box that lasts three steps, beyond its own
constexpr int TAPS = 9;

constexpr int CONSUMERS = 2;       // warpgroups that multiply
constexpr int LEAD = 0;            // steps by which the second of them begins later: their stores fall apart
constexpr int THREADS = 128 + 128 * CONSUMERS;
constexpr int BLOCKS = 2;          // of a cluster
constexpr int MOST_SMS = 256;

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// -- barriers ---------------------------------------------------------------------------------------------------------
typedef unsigned long long Barrier;

__device__ __forceinline__ void init(Barrier* barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(barrier)), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void arrive(Barrier* barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(barrier)) : "memory");
}

// Arrives, and says that `bytes` are on their way to the barrier's stage.
__device__ __forceinline__ void arrive_before(Barrier* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 ::"r"(address(barrier)), "r"(bytes) : "memory");
}

// Arrives at the barrier in the same place of a block of the cluster.
__device__ __forceinline__ void arrive_at(Barrier* barrier, int block)
{
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there]; }"
                 ::"r"(address(barrier)), "r"(block) : "memory");
}

__device__ __forceinline__ void meet_cluster()
{
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

__device__ __forceinline__ void wait(Barrier* barrier, int parity)
{
    unsigned int done;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(address(barrier)), "r"(parity) : "memory");
    } while (!done);
}

// A place in a ring of `slots`, and how often it has gone round, as far as barriers ask.
struct Place {
    int slots, slot = 0, round = 0;

    __device__ __forceinline__ void step()
    {
        if (++slot == slots) slot = 0, round ^= 1;
    }
};

// -- boxes of pixels --------------------------------------------------------------------------------------------------
// 2^w columns of 2^h rows of 2^n images; boxes are numbered along the columns, then rows, then images.
struct Boxes {
    int w, h, n, across, down, count;

    __device__ __forceinline__ static int pieces(int size, int log) { return (size + (1 << log) - 1) >> log; }

    // The shape that needs the fewest boxes; of those the one with the smallest rim, which is read for other boxes too.
    // There are 28: every lane weighs one.
    __device__ __forceinline__ static Boxes fewest(int N, int H, int W)
    {
        const auto shape = [&](int number) {
            int w = 0;
            for (; number > 6 - w && w < 6; ++w) number -= 7 - w;
            const int h = min(number, 6 - w), n = 6 - w - h, across = pieces(W, w), down = pieces(H, h);
            return Boxes{w, h, n, across, down, pieces(N, n) * down * across};
        };
        const int lane = threadIdx.x % 32;
        const Boxes mine = shape(lane);
        unsigned long long cost = mine.count * 1024ull + (((1 << mine.w) + 2) * ((1 << mine.h) + 2) << mine.n);
        cost = cost << 5 | lane;
#pragma unroll
        for (int away = 16; away > 0; away /= 2) cost = min(cost, __shfl_xor_sync(0xffffffff, cost, away));
        return shape(cost % 32);
    }

    // Whether a row is one period of the swizzle, and all boxes' rows lie behind one another.
    __device__ __forceinline__ bool rows_shared() const { return w == 3 && n == 0; }

    // First column, row and image; behind the last box no image is inside.
    __device__ __forceinline__ int3 at(int box) const
    {
        return make_int3(box % across << w, box / across % down << h, box / (across * down) << n);
    }
};

// -- tensor maps ------------------------------------------------------------------------------------------------------
struct __align__(128) Map {
    unsigned int words[32];
};

struct Maps {
    Map images, weights, convolved;
};

// Of the block that a multiprocessor has: there is room for one. By the block's number, two launches at once, on
// different streams, would get each other's.
__device__ Maps maps[MOST_SMS];

#define FIELD(name, value) \
    asm volatile("tensormap.replace.tile." name ".shared::cta.b1024.b32 [%0], " value ";" \
                 ::"r"(address(&map)) : "memory")
#define SIZE(name, type, index, constraint, value) \
    asm volatile("tensormap.replace.tile." name ".shared::cta.b1024." type " [%0], " index ", %1;" \
                 ::"r"(address(&map)), constraint(value) : "memory")
#define DIMENSION(index, size, box) \
    SIZE("global_dim", "b32", index, "r", size); \
    SIZE("box_dim", "b32", index, "r", box); \
    SIZE("element_stride", "b32", index, "r", 1)
#define STRIDE(index, elements) SIZE("global_stride", "b64", index, "l", 2ll * (elements))

// From zeros: what maps of four dimensions have in common, those of channels and of boxes a line of 128 bytes wide.
__device__ __forceinline__ void begin(Map& map, const Element* elements, int channels)
{
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;"
                 ::"r"(address(&map)), "l"(elements) : "memory");
    FIELD("rank", "3");  // one less than there are
    DIMENSION("0", channels, BK);
    FIELD("elemtype", ELEMENT_TYPE);
    FIELD("interleave_layout", "0");
    FIELD("swizzle_mode", "3");  // 128 bytes
    FIELD("fill_mode", "0");
}

__device__ __forceinline__ void describe_images(Map& map, const Element* images, const Boxes& boxes, int N, int H,
                                                int W, int C, int rim)
{
    begin(map, images, C);
    DIMENSION("1", W, 1 << boxes.w);
    DIMENSION("2", H, (1 << boxes.h) + rim);
    DIMENSION("3", N, 1 << boxes.n);
    STRIDE("0", C);
    STRIDE("1", (long long)W * C);
    STRIDE("2", (long long)H * W * C);
}

// One tap of `filters` filters; the last dimension is there for the instruction only.
__device__ __forceinline__ void describe_weights(Map& map, const Element* weights, int C, int K,
                                                 int filters)
{
    begin(map, weights, C);
    DIMENSION("1", TAPS, 1);
    DIMENSION("2", K, filters);
    DIMENSION("3", 1, 1);
    STRIDE("0", C);
    STRIDE("1", (long long)TAPS * C);
    STRIDE("2", (long long)TAPS * C * K);
}

// To global memory, where the copy engine wants it; all of a warp take part.
__device__ __forceinline__ void publish(Map* to, const Map& map)
{
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
                 "[%0], [%1], 128;"
                 ::"l"(to), "r"(address(&map)) : "memory");
}

__device__ __forceinline__ void acquire(const Map* map)
{
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

// Ask for a box whose first element is channel c of (x, y, n).
__device__ __forceinline__ void fetch_box(void* to, const Map* map, int c, int x, int y, int n, Barrier* barrier)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4, %5}], [%6];"
                 ::"r"(address(to)), "l"(map), "r"(c), "r"(x), "r"(y), "r"(n), "r"(address(barrier)) : "memory");
}

// The same for the blocks of the cluster, to the same place in each, and on the same barrier of each.
__device__ __forceinline__ void fetch_shared_box(void* to, const Map* map, int c, int x, int y, int n, Barrier* barrier)
{
    const unsigned short all = (1 << BLOCKS) - 1;
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;"
                 ::"r"(address(to)), "l"(map), "r"(c), "r"(x), "r"(y), "r"(n), "r"(address(barrier)), "h"(all)
                 : "memory");
}

// -- products ---------------------------------------------------------------------------------------------------------
// A tile of lines of 128 bytes along the channels, under the 128-byte swizzle: 1024 bytes to the next 8 lines.
__device__ __forceinline__ unsigned long long descriptor(const Element* tile)
{
    constexpr unsigned long long stride = 1024 / 16, swizzle = 1ull << 62;
    return (address(tile) & 0x3ffff) >> 4 | 1ull << 16 | stride << 32 | swizzle;
}

#define F8(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), \
              "+f"(c[i + 6]), "+f"(c[i + 7])
#define F32(i) F8(i), F8(i + 8), F8(i + 16), F8(i + 24)
#define R32 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, " \
    "%23, %24, %25, %26, %27, %28, %29, %30, %31"
#define R64 R32 \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, " \
    "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define R128 R64 \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, " \
    "%85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, " \
    "%105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, " \
    "%123, %124, %125, %126, %127"
#define MULTIPLY(columns, registers, a, b, ...) \
    asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0;\n" \
                 "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." TYPE "." TYPE " {" registers "}, " \
                 a ", " b ", p, 1, 1, 0, 0; }" : __VA_ARGS__ : "l"(windows), "l"(filters) : "memory")

// Adds 64 pixels by 16 channels of a tap times BN filters to c; it has happened behind the wait.
template <int BN>
__device__ __forceinline__ void multiply(float (&c)[BN / 2], unsigned long long windows, unsigned long long filters)
{
    if constexpr (BN == 64) MULTIPLY("64", R32, "%32", "%33", F32(0));
    else if constexpr (BN == 128) MULTIPLY("128", R64, "%64", "%65", F32(0), F32(32));
    else MULTIPLY("256", R128, "%128", "%129", F32(0), F32(32), F32(64), F32(96));
}

// A warpgroup's 64 pixels times all filters, for 64 channels of a tap, as one group that is not waited for.
template <int BN>
__device__ __forceinline__ void multiply_tap(float (&c)[BN / 2], const Element* windows, const Element* filters)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < BK; k += 16) multiply<BN>(c, descriptor(windows + k), descriptor(filters + k));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// -- sums -------------------------------------------------------------------------------------------------------------
typedef Element Box[BOX][BK];

// A warpgroup's sums through its two boxes in turn, `stored` panels before these; a row of 8 lies at place c ^ (r % 8),
// as the map's swizzle has it.
template <int BN>
__device__ __forceinline__ void store_boxes(const float (&c)[BN / 2], Box* boxes, const Map* map, int group, int3 at,
                                            int first, int stored)
{
    const int t = threadIdx.x % 128, lane = t % 32, line = t / 32 * 16 + lane % 16;
#pragma unroll
    for (int p = 0; p < BN / BK; ++p) {
        Box& box = boxes[(stored + p) % 2];
        if (t == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");  // the last but one has been read
        asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
#pragma unroll
        for (int j = 0; j < BK / 8; j += 2) {
            const float* s = &c[4 * (p * BK / 8 + j)];
            const Pair pairs[4] = {pair(s[0], s[1]), pair(s[2], s[3]), pair(s[4], s[5]), pair(s[6], s[7])};
            unsigned int words[4];
            memcpy(words, pairs, sizeof words);
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                         ::"r"(address(&box[line][((j + lane / 16) ^ line % 8) * 8])),
                         "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // threads put it there, the copy engine reads it
        asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
        if (t > 0) continue;
        asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];"
                     ::"l"(map), "r"(first + p * BK), "r"(at.x), "r"(at.y), "r"(at.z), "r"(address(box)) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
}

// -- a block's tiles --------------------------------------------------------------------------------------------------
template <int BN>
constexpr int SLOTS = RINGS / (2 * BK * (CONSUMERS * BOX + BN));  // steps in the rings: 4, 6 or 8
constexpr int MOST = SLOTS<64>;
__shared__ Barrier windows_full[MOST], windows_empty[MOST], filters_full[MOST], filters_empty[MOST], under_way;
__shared__ Maps made;

template <int BN>
__device__ __forceinline__ void convolve(const Element* images, const Element* weights, Element* convolved, int N,
                                         int H, int W, int C, int K)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    const int t = threadIdx.x, group = t / 128 - 1;
    const Boxes boxes = Boxes::fewest(N, H, W);
    const bool shared = boxes.rows_shared();
    const int lines = shared ? BOX + RIM * 8 : BOX;  // of a box in memory
    constexpr int WINDOWS = SLOTS<BN> * CONSUMERS * BOX * BK * 2;  // bytes
    Place window = {WINDOWS / (CONSUMERS * lines * BK * 2)}, filter = {SLOTS<BN>};
    const auto windows = [&](int slot, int g) {
        return reinterpret_cast<Element*>(memory) + (slot * CONSUMERS + g) * lines * BK;
    };
    const auto filters = [&](int slot) { return reinterpret_cast<Element*>(memory + WINDOWS) + slot * BN * BK; };

    const int block = blockIdx.x % BLOCKS, cluster = blockIdx.x / BLOCKS, clusters = gridDim.x / BLOCKS;
    constexpr int TOGETHER = BLOCKS * CONSUMERS;  // boxes of a cluster's tile
    const int outs = (K + BN - 1) / BN, count = (boxes.count + TOGETHER - 1) / TOGETHER * outs;
    unsigned int sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    Maps* mine = &maps[sm];

    if (t < MOST) {
        init(&windows_full[t], 1), init(&windows_empty[t], CONSUMERS);
        init(&filters_full[t], 1), init(&filters_empty[t], TOGETHER);
    }
    if (t == 0) init(&under_way, 1);
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
    if (t < 32) {
        made.images.words[t] = made.weights.words[t] = made.convolved.words[t] = 0;
        __syncwarp();
        if (t == 0) {
            describe_images(made.images, images, boxes, N, H, W, C, shared ? RIM : 0);
            describe_weights(made.weights, weights, C, K, BN / BLOCKS);
            describe_images(made.convolved, convolved, boxes, N, H, W, K, 0);
        }
        publish(&mine->images, made.images);
        publish(&mine->weights, made.weights);
        publish(&mine->convolved, made.convolved);
    }
    __syncthreads();
    meet_cluster();

    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t > 0) return;
        acquire(&mine->images), acquire(&mine->weights);
        window.round = filter.round = 1;  // slots are empty at first
        for (int tile = cluster; tile < count; tile += clusters) {
            const int first = tile / outs * TOGETHER + block * CONSUMERS, out = tile % outs * BN;
            int3 at[CONSUMERS];
#pragma unroll
            for (int g = 0; g < CONSUMERS; ++g) at[g] = boxes.at(first + g);
            for (int c = 0; c < C; c += BK) {
                for (int step = 0; step < TAPS; ++step) {  // down each column of the filter
                    const int s = step / 3, r = step % 3;
                    if (!shared || r == 0) {
                        Barrier* there = &windows_full[window.slot];
                        wait(&windows_empty[window.slot], window.round);
                        arrive_before(there, CONSUMERS * lines * BK * 2);
#pragma unroll
                        for (int g = 0; g < CONSUMERS; ++g) {
                            const int x = at[g].x + s - 1, y = at[g].y + r - 1;
                            fetch_box(windows(window.slot, g), &mine->images, c, x, y, at[g].z, there);
                        }
                        window.step();
                    }
                    const int half = block * (BN / BLOCKS);  // of the filters
                    Barrier* there = &filters_full[filter.slot];
                    wait(&filters_empty[filter.slot], filter.round);
                    arrive_before(there, BN * BK * 2);
                    Element* to = filters(filter.slot) + half * BK;
                    fetch_shared_box(to, &mine->weights, c, r * 3 + s, out + half, 0, there);
                    filter.step();
                }
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    if (t % 128 == 0) acquire(&mine->convolved);
    Box* sums = reinterpret_cast<Box*>(memory + RINGS) + 2 * group;
    if (LEAD > 0 && group > 0 && cluster < count) wait(&under_way, 0);
    int old_window = 0, old_filter = 0;  // the slots that the products before read
    const auto give_back = [&](bool windows_too) {
        if (windows_too && t % 128 == 0) arrive(&windows_empty[old_window]);
        if (t % 128 < BLOCKS) arrive_at(&filters_empty[old_filter], t % 128);
    };
    for (int tile = cluster, stored = 0; tile < count; tile += clusters, stored += BN / BK) {
        float c[BN / 2] = {};
        for (int columns = 0; columns < (C + BK - 1) / BK * 3; ++columns) {
            for (int r = 0; r < 3; ++r) {
                if (!shared || r == 0) wait(&windows_full[window.slot], window.round);
                wait(&filters_full[filter.slot], filter.round);
                __syncwarp();  // the tensor cores want all lanes at once
                const Element* from = windows(window.slot, group) + (shared ? r * 8 * BK : 0);
                multiply_tap<BN>(c, from, filters(filter.slot));
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                if (columns > 0 || r > 0) give_back(!shared || r == 0);  // the products before are made
                const bool leads = LEAD > 0 && group == 0 && tile == cluster && 3 * columns + r == LEAD;
                if (leads && t % 128 == 0) arrive(&under_way);
                old_window = window.slot, old_filter = filter.slot;
                filter.step();
                if (!shared || r == 2) window.step();
            }
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        give_back(true);
        const int3 at = boxes.at(tile / outs * TOGETHER + block * CONSUMERS + group);
        store_boxes<BN>(c, sums, &mine->convolved, group, at, tile % outs * BN, stored);
    }
    if (t % 128 == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    meet_cluster();  // none leaves while the other may still arrive at its barriers
}

// Any number of channels: a thread for an output, the window from global memory.
__device__ __forceinline__ void direct(const Element* images, const Element* weights, Element* convolved, int N, int H,
                                       int W, int C, int K)
{
    const size_t all = (size_t)N * H * W * K, every = (size_t)gridDim.x * THREADS;
    for (size_t e = (size_t)blockIdx.x * THREADS + threadIdx.x; e < all; e += every) {
        const size_t pixel = e / K;
        const int k = e % K, x = pixel % W, y = pixel / W % H;
        float sum = 0.0f;
        for (int tap = 0; tap < TAPS; ++tap) {
            const int r = tap / 3 - 1, s = tap % 3 - 1;
            if (y + r < 0 || y + r >= H || x + s < 0 || x + s >= W) continue;
            const Element* image = images + (ptrdiff_t)(pixel + (ptrdiff_t)r * W + s) * C;
            const Element* filter = weights + ((size_t)k * TAPS + tap) * C;
            for (int c = 0; c < C; ++c) sum += (float)image[c] * (float)filter[c];
        }
        convolved[e] = Element(sum);
    }
}

extern "C" __global__ void IN_CLUSTERS __launch_bounds__(THREADS, 1)
convolution_half_shared_rows(const Element* __restrict__ images, const Element* __restrict__ weights,
                             Element* __restrict__ convolved, int N, int H, int W, int C, int K)
{
    const bool aligned = (((size_t)images | (size_t)weights | (size_t)convolved) & 15) == 0;
    if (C == 0 || C % 8 || K % 8 || !aligned) direct(images, weights, convolved, N, H, W, C, K);
    else if (K <= 64) convolve<64>(images, weights, convolved, N, H, W, C, K);
    else if (K <= 128) convolve<128>(images, weights, convolved, N, H, W, C, K);
    else convolve<256>(images, weights, convolved, N, H, W, C, K);
}
