// grid: ceil(n/2048)
// block: 256
// shared: 4*ceil(n/512)+1024
// fault: what hardware refuses
// kinds: launch
// Shared memory grows with n: at the timed size it is 2 MiB a block.

__global__ void reduction(const float* x, float* total, int n)
{
    extern __shared__ float s[];
    const int t = threadIdx.x;
    float v = 0.0f;
    for (int k = 0; k < 8; ++k) {
        const int i = (blockIdx.x * 8 + k) * 256 + t;
        if (i < n) v += x[i];
    }
    s[t] = v;
    __syncthreads();
    for (int w = 128; w; w >>= 1) {
        if (t < w) s[t] += s[t + w];
        __syncthreads();
    }
    if (t == 0) atomicAdd(total, s[0]);
}
