// A block adds up 256 numbers in shared memory, pairwise, and adds once to the total.
//
// entry: tree
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void tree(const float* x, float* total, int n)
{
    __shared__ float partial[256];

    const int t = threadIdx.x;
    const int i = blockIdx.x * 256 + t;
    partial[t] = i < n ? x[i] : 0.0f;
    __syncthreads();

    for (int s = 128; s > 0; s /= 2) {
        if (t < s) partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0) atomicAdd(total, partial[0]);
}
