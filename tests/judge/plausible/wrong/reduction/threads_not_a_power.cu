// grid: 48
// block: 32*min(8, max(1, ceil(n/65536)))
// fault: tail of a block
// kinds: wrong_result
// The block has 96, 160, 192 or 224 threads at some n, and the tree halves it: elements are lost.
__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[256];
    const int t = threadIdx.x;
    float v = 0;
    for (long long i = blockIdx.x * (long long)blockDim.x + t; i < n; i += gridDim.x * blockDim.x) v += x[i];
    s[t] = v;
    __syncthreads();
    for (int o = blockDim.x / 2; o; o >>= 1) { if (t < o) s[t] += s[t + o]; __syncthreads(); }
    if (t == 0) atomicAdd(total, s[0]);
}
