// Missing barrier: a round of the tree starts before the round before it has ended in every warp.
//
// entry: sum_missing_barrier
// block: 256
// grid: ceil(n/256)
// expect: race

extern "C" __global__ void sum_missing_barrier(const float* x, float* total, int n)
{
    __shared__ float partial[256];
    const int t = threadIdx.x;
    const int i = blockIdx.x * 256 + t;
    partial[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s) partial[t] += partial[t + s];  // <- here
    }
    if (t == 0) atomicAdd(total, partial[0]);
}
