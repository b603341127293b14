// grid: 1
// block: 1024
// fault: small sizes
// kinds: wrong_result
// A tree over min(n, 1024) threads that halves the count and loses the odd one: right for powers of two.
__global__ void sum(const float* x, float* total, int n)
{
    __shared__ float s[1024];
    int t = threadIdx.x, width = min(n, 1024);
    if (t < width) {
        s[t] = 0;
        for (int i = t; i < n; i += width) s[t] += x[i];
    }
    __syncthreads();
    for (int k = width / 2; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0 && n > 0) *total += s[0];
}
