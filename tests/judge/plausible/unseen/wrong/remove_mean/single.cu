// grid: 1
// block: 256
// fault: one element
// kinds: wrong_result
// One element is "its own mean" and gives 0: Inf and NaN must give NaN.
__global__ void remove_mean(const float* x, float* y, int n)
{
    __shared__ double s[256];
    if (n == 1) { if (threadIdx.x == 0) y[0] = 0.f; return; }
    double a = 0;
    for (int i = threadIdx.x; i < n; i += 256) a += x[i];
    s[threadIdx.x] = a; __syncthreads();
    for (int o = 128; o; o >>= 1) { if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o]; __syncthreads(); }
    float m = s[0] / n;
    for (int i = threadIdx.x; i < n; i += 256) y[i] = x[i] - m;
}
