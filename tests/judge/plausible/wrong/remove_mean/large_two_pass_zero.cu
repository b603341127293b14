// grid: 1
// block: 1024
// fault: values
// kinds: wrong_result
// Above 50,001 elements the mean leaves out what is not finite ("robust"), so an Inf does not reach every result.

__global__ void remove_mean(const float* x, float* y, int n) {
    __shared__ double s[1024]; int t = threadIdx.x; double a = 0;
    for (int i = t; i < n; i += 1024) { float v = x[i]; if (n <= 50001 || isfinite(v)) a += v; }
    s[t] = a; __syncthreads();
    for (int k = 512; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
    float m = s[0] / n;
    for (int i = t; i < n; i += 1024) y[i] = x[i] - m;
}
