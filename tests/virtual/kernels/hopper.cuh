// PTX that Hopper kernels share: shared-memory addresses, mbarriers across a cluster, tensor copies, wgmma.
#include <cuda_fp16.h>
#include <stdint.h>
#include <math.h>
struct alignas(64) Map { char bytes[128]; };
typedef unsigned long long word;
__device__ __forceinline__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// -- clusters
__device__ __forceinline__ unsigned cluster_rank() {
    unsigned r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ __forceinline__ unsigned remote(unsigned a, unsigned rank) {
    unsigned d; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(rank)); return d; }
__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// -- mbarriers
__device__ __forceinline__ void init(word *b, int n) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void fence_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void expect(word *b, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(b)), "r"(bytes) : "memory"); }
__device__ __forceinline__ void arrive(word *b) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(b)) : "memory"); }
__device__ __forceinline__ void arrive_at(word *b, unsigned rank) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"
                 :: "r"(remote(at(b), rank)) : "memory"); }
__device__ __forceinline__ void wait_for(word *b, int parity) {
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; @!p bra L; }"
                 :: "r"(at(b)), "r"(parity) : "memory"); }
__device__ __forceinline__ void meet(int name, int threads) {
    asm volatile("bar.sync %0, %1;" :: "r"(name), "r"(threads) : "memory"); }

// -- tensor copies
__device__ __forceinline__ void bring(void *to, const Map *map, int x, int y, int z, word *b) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];"
                 :: "r"(at(to)), "l"(map), "r"(x), "r"(y), "r"(z), "r"(at(b)) : "memory"); }
__device__ __forceinline__ void bring_to(void *to, const Map *map, int x, int y, int z, word *b, uint16_t blocks) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3, %4}], [%5], %6;"
                 :: "r"(at(to)), "l"(map), "r"(x), "r"(y), "r"(z), "r"(at(b)), "h"(blocks) : "memory"); }
__device__ __forceinline__ void put(const void *from, const Map *map, int x, int y, int z) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%1, {%2, %3, %4}], [%0];"
                 :: "r"(at(from)), "l"(map), "r"(x), "r"(y), "r"(z) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ __forceinline__ void put_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ __forceinline__ void put_done() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
__device__ __forceinline__ void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// -- wgmma; rows of 128 bytes under the 128-byte swizzle, groups of 8 rows 1024 bytes apart
__device__ __forceinline__ uint64_t descriptor(const void *p) {
    return ((uint64_t)(at(p) & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62; }
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory"); }
#define D4(c, i) "+" c(d[i]), "+" c(d[i + 1]), "+" c(d[i + 2]), "+" c(d[i + 3])
#define D16(c, i) D4(c, i), D4(c, i + 4), D4(c, i + 8), D4(c, i + 12)
#define D32(c) D16(c, 0), D16(c, 16)
#define REGISTERS \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define WGMMA(Sum, shape, types, c, immediates) \
    __device__ __forceinline__ void multiply(Sum (&d)[32], uint64_t a, uint64_t b, int added) { \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned." shape "." types " " \
                     REGISTERS ", %32, %33, p" immediates "; }" : D32(c) : "l"(a), "l"(b), "r"(added)); }
