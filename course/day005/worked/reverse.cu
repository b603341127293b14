// A block turns its 256 floats round, through shared memory.
//
// entry: reverse
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void reverse(const float* x, float* y, int n)
{
    __shared__ float stage[256];

    const int t = threadIdx.x;
    const int i = blockIdx.x * 256 + t;
    if (i < n) stage[t] = x[i];
    __syncthreads();

    const int from = min(256, n - blockIdx.x * 256) - 1 - t;
    if (i < n) y[i] = stage[from];
}
