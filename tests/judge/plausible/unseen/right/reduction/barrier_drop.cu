// grid: min(ceil(n/2048), 4*SMS)
// block: 128
// The upper half arrives and leaves; the lower half waits and adds.
#include <cuda/barrier>
#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float part[128];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    const int t = threadIdx.x;
    if (t == 0) init(&bar, 128);
    __syncthreads();
    float s = 0;
    for (long long i = blockIdx.x * 128ll + t; i < n; i += gridDim.x * 128ll) s += x[i];
    part[t] = s;
    for (int k = 64; k > 0; k >>= 1) {
        if (t >= k) { bar.arrive_and_drop(); return; }
        bar.arrive_and_wait();
        part[t] += part[t + k];
    }
    atomicAdd(total, part[0]);
}
