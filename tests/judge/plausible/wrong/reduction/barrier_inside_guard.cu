// grid: ceil(n/256)
// block: 256
// fault: divergent barrier
// kinds: barrier_divergence deadlock race wrong_result
// The tree stands inside `if (i < n)` and a barrier behind it: in the last block threads wait at different places.
__global__ void sum(const float* x, float* total, int n)
{
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = 0;
    __syncthreads();
    if (i < n) {
        s[t] = x[i];
        for (int k = 128; k > 0; k >>= 1) {
            __syncthreads();
            if (t < k) s[t] += s[t + k];
        }
    }
    __syncthreads();
    if (t == 0) atomicAdd(total, s[0]);
}
