// grid: 2*SMS
// block: 128
// fault: ring of stages
// kinds: race
// Block-wide cuda::pipeline of two stages, consumer_release() ahead of the reads: the next copy may overwrite what slower warps still read.

#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[2][512]; __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block(); auto pipe = cuda::make_pipeline(block, &state);
    int t = threadIdx.x, pieces = (n + 511) / 512; float a = 0; int next = blockIdx.x;
    auto fetch = [&](int b) { pipe.producer_acquire(); if (next < pieces) { int o = next * 512; cuda::memcpy_async(block, s[b], x + o, sizeof(float) * min(512, n - o), pipe); } pipe.producer_commit(); next += gridDim.x; };
    fetch(0); int b = 0;
    for (int p = blockIdx.x; p < pieces; p += gridDim.x, b ^= 1) {
        fetch(b ^ 1);
        pipe.consumer_wait(); pipe.consumer_release();
        int m = min(512, n - p * 512); for (int i = (t + 32) % 128; i < m; i += 128) a += s[b][i];
    }
    pipe.consumer_wait(); pipe.consumer_release();
    for (int k = 16; k; k /= 2) a += __shfl_down_sync(~0u, a, k);
    if (t % 32 == 0) atomicAdd(total, a);
}
