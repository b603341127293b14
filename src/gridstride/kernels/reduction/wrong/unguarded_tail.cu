// Unguarded tail: the last block reads past n.
//
// entry: sum_unguarded_tail
// block: 256
// grid: ceil(n/256)
// expect: out_of_bounds

extern "C" __global__ void sum_unguarded_tail(const float* x, float* total, int n)
{
    __shared__ float partial[256];
    const int t = threadIdx.x;
    partial[t] = x[blockIdx.x * 256 + t];  // <- here
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s) partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0) atomicAdd(total, partial[0]);
}
