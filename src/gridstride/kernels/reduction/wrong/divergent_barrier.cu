// Divergent barrier: the barrier stands inside the `if`, and the threads that are done never come to it.
//
// entry: sum_divergent_barrier
// block: 256
// grid: ceil(n/256)
// expect: barrier_divergence

extern "C" __global__ void sum_divergent_barrier(const float* x, float* total, int n)
{
    __shared__ float partial[256];
    const int t = threadIdx.x;
    const int i = blockIdx.x * 256 + t;
    partial[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s) {
            partial[t] += partial[t + s];
            __syncthreads();  // <- here
        }
    }
    if (t == 0) atomicAdd(total, partial[0]);
}
