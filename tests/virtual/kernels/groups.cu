// Cooperative groups, cuda::barrier and cuda::atomic_ref together.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda/barrier>
namespace cg = cooperative_groups;

// The whole grid sums; every block gets the result after one meeting and divides by it.
extern "C" __global__ void normalised(const float *x, float *y, float *sums, int n) {
    auto grid = cg::this_grid();
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    __shared__ float part;
    if (block.thread_rank() == 0) part = 0;
    block.sync();
    float sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += x[i];
    sum = cg::reduce(warp, sum, cg::plus<float>());
    if (warp.thread_rank() == 0) atomicAdd_block(&part, sum);
    block.sync();
    if (block.thread_rank() == 0) sums[blockIdx.x] = part;
    grid.sync();
    float total = 0;
    for (int b = 0; b < gridDim.x; ++b) total += sums[b];
    for (int i = grid.thread_rank(); i < n; i += grid.size()) y[i] = x[i] / total;
}

// Tiles of 256 come by memcpy_async while the one before is squared: a barrier for each of two buffers.
extern "C" __global__ void squares(const float *x, float *y, int tiles) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ alignas(16) float buffer[2][256];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier arrived[2];
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) { init(&arrived[0], block.size()); init(&arrived[1], block.size()); }
    block.sync();
    const float *from = x + (size_t)blockIdx.x * tiles * 256;
    cuda::memcpy_async(block, buffer[0], from, cuda::aligned_size_t<16>(1024), arrived[0]);
    for (int i = 0; i < tiles; ++i) {
        if (i + 1 < tiles)
            cuda::memcpy_async(block, buffer[(i + 1) % 2], from + (i + 1) * 256, cuda::aligned_size_t<16>(1024),
                               arrived[(i + 1) % 2]);
        arrived[i % 2].arrive_and_wait();
        for (int j = block.thread_rank(); j < 256; j += block.size()) {
            float v = buffer[i % 2][255 - j];
            y[((size_t)blockIdx.x * tiles + i) * 256 + j] = v * v;
        }
        block.sync();  // the buffer may be filled again
    }
}

// Look-back by acquire and release: flag and sum in one word.
extern "C" __global__ void scan(const int *x, int *y, unsigned long long *state, int *next, int n) {
    using ref = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;
    __shared__ int sums[4], tile, before;
    if (threadIdx.x == 0) tile = cuda::atomic_ref<int, cuda::thread_scope_device>(*next).fetch_add(1, cuda::memory_order_relaxed);
    __syncthreads();
    int t = threadIdx.x, lane = t % 32, i = tile * 128 + t, v = i < n ? x[i] : 0;
    for (int apart = 1; apart < 32; apart *= 2) { int b = __shfl_up_sync(~0u, v, apart); if (lane >= apart) v += b; }
    if (lane == 31) sums[t / 32] = v;
    __syncthreads();
    if (t < 32) {  // 32 tiles at a time
        int total = sums[0] + sums[1] + sums[2] + sums[3], sum = 0;
        if (t == 0) ref(state[tile]).store((tile ? 1ull : 2ull) << 32 | (unsigned)total, cuda::memory_order_release);
        for (int p = tile - 1; p >= 0; p -= 32) {
            int at = p - lane;
            unsigned long long s = 2ull << 32;
            if (at >= 0) while (!((s = ref(state[at]).load(cuda::memory_order_acquire)) >> 32)) __nanosleep(20);
            unsigned done = __ballot_sync(~0u, s >> 32 == 2);
            int part = done == 0 || lane <= __ffs(done) - 1 ? (int)s : 0;
            sum += __reduce_add_sync(~0u, part);
            if (done) break;
        }
        if (t == 0) {
            if (tile) ref(state[tile]).store(2ull << 32 | (unsigned)(sum + total), cuda::memory_order_release);
            before = sum;
        }
    }
    __syncthreads();
    for (int w = 0; w < t / 32; ++w) v += sums[w];
    if (i < n) y[i] = v + before;
}

// A cluster's blocks reduce a row each part, then read one another's results.
extern "C" __global__ void __cluster_dims__(4, 1, 1) centred(const float *x, float *y, int n) {
    auto cluster = cg::this_cluster();
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    __shared__ float part;
    if (block.thread_rank() == 0) part = 0;
    block.sync();
    const float *row = x + (size_t)(blockIdx.x / 4) * n;
    float sum = 0;
    for (int i = cluster.thread_rank(); i < n; i += cluster.size()) sum += row[i];
    sum = cg::reduce(warp, sum, cg::plus<float>());
    if (warp.thread_rank() == 0) atomicAdd(&part, sum);
    cluster.sync();
    float total = 0;
    for (int r = 0; r < 4; ++r) total += *cluster.map_shared_rank(&part, r);
    for (int i = cluster.thread_rank(); i < n; i += cluster.size()) y[(size_t)(blockIdx.x / 4) * n + i] = row[i] - total / n;
    cluster.sync();
}
