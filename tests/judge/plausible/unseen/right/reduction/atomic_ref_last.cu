// cuda::atomic_ref with acquire and release: the last block adds up what the others have left.
// grid: min(max(1, ceil(n/4096)), 1024)
// block: 256
#include <cuda/atomic>
__device__ float parts[1024];
__device__ unsigned int arrived;
__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[256];
    __shared__ bool last;
    float v = 0.0f;
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < n; i += (long long)gridDim.x * 256) v += x[i];
    s[threadIdx.x] = v;
    for (int h = 128; h > 0; h >>= 1) { __syncthreads(); if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h]; }
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = s[0];
        cuda::atomic_ref<unsigned int, cuda::thread_scope_device> count(arrived);
        last = count.fetch_add(1u, cuda::memory_order_acq_rel) == gridDim.x - 1;
        if (last) count.store(0u, cuda::memory_order_relaxed);
    }
    __syncthreads();
    if (!last) return;
    if (threadIdx.x == 0) {
        float sum = 0.0f, lost = 0.0f;  // Kahan
        for (unsigned int b = 0; b < gridDim.x; ++b) {
            sum += parts[b];
        }
        total[0] += sum + lost;
    }
}
