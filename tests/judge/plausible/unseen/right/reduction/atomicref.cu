// grid: min(ceil(n/1024),4*SMS)
// block: 256
// Last block by cuda::atomic_ref with acquire and release, no fence; cuda::barrier within the block
#include <cuda/atomic>
#include <cuda/barrier>
__device__ float parts[4096];
__device__ unsigned done;
__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[256];
    __shared__ bool last;
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int t = threadIdx.x;
    if (t == 0) init(&bar, 256);
    __syncthreads();
    float a = 0;
    for (long long i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) a += x[i];
    s[t] = a; bar.arrive_and_wait();
    for (int o = 128; o; o >>= 1) { if (t < o) s[t] += s[t + o]; bar.arrive_and_wait(); }
    if (t == 0) {
        parts[blockIdx.x] = s[0];
        cuda::atomic_ref<unsigned, cuda::thread_scope_device> d(done);
        last = d.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    a = 0;
    for (int b = t; b < gridDim.x; b += 256) a += parts[b];
    s[t] = a; __syncthreads();
    for (int o = 128; o; o >>= 1) { if (t < o) s[t] += s[t + o]; __syncthreads(); }
    if (t == 0) { *total += s[0]; done = 0; }
}
