// grid: min(max(1, ceil(n/1024)), 128)
// block: 256
// needs: 7.0
// fault: race
// kinds: race
// The ticket is atom.acquire without release and no fence stands before it: the partial sum may be seen later
// than the ticket.
#include <cuda/atomic>
__device__ float parts[128];
__device__ unsigned int ticket;
__global__ void sum(const float* x, float* total, int n)
{
    __shared__ float s[256];
    float v = 0;
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL) v += x[i];
    s[threadIdx.x] = v;
    for (int k = 128; k; k >>= 1) { __syncthreads(); if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k]; }
    if (threadIdx.x) return;
    parts[blockIdx.x] = s[0];
    cuda::atomic_ref<unsigned int, cuda::thread_scope_device> t(ticket);
    if (t.fetch_add(1, cuda::memory_order_acquire) == gridDim.x - 1) {
        float all = *total;
        for (int b = 0; b < gridDim.x; b++) all += parts[b];
        *total = all;
        t.store(0, cuda::memory_order_relaxed);
    }
}
