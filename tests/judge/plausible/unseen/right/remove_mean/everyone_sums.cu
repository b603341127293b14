// right: no block speaks with another: each adds up everything, in the same order
// grid: ceil(n/2048)
// block: 256
__global__ void remove_mean(const float* x, float* y, int n)
{
    __shared__ double s[256];
    double v = 0;
    for (int i = threadIdx.x; i < n; i += 256) v += x[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int k = 128; k; k >>= 1) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    const float mean = (float)(s[0] / n);
    for (int i = blockIdx.x * 2048 + threadIdx.x; i < min(n, (int)(blockIdx.x + 1) * 2048); i += 256) y[i] = x[i] - mean;
}
