// grid: ceil(n/2000)
// block: 250
//
// libcu++: a barrier in shared memory instead of __syncthreads, an atomic_ref on total.

#include <cuda/atomic>
#include <cuda/barrier>

__global__ void reduction(const float* x, float* total, int n)
{
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ alignas(Barrier) unsigned char room[sizeof(Barrier)];
    __shared__ float sums[250];
    Barrier* barrier = reinterpret_cast<Barrier*>(room);
    const int t = threadIdx.x;
    if (t == 0) init(barrier, 250);
    __syncthreads();
    float v = 0.0f;
    for (int k = 0; k < 8; ++k) {
        const int i = blockIdx.x * 2000 + k * 250 + t;
        if (i < n) v += x[i];
    }
    sums[t] = v;
    barrier->arrive_and_wait();
    for (int width = 250; width > 1;) {
        const int half = (width + 1) / 2;
        if (t + half < width) sums[t] += sums[t + half];
        barrier->arrive_and_wait();
        width = half;
    }
    if (t == 0) cuda::atomic_ref<float, cuda::thread_scope_device>(*total).fetch_add(sums[0], cuda::memory_order_relaxed);
}
