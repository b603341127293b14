// grid: 1
// block: 512
// Blelloch's tree over 1024 words, of which those behind n hold anything: what they hold flows to words behind n only.
__global__ void prescan(const float* x, float* y, int n)
{
    __shared__ float s[1024];
    int t = threadIdx.x;
    float carry = 0;
    for (long long first = 0; first < n; first += 1024) {
        for (int k = t; k < 1024 && first + k < n; k += 512) s[k] = x[first + k];
        int d = 1;
        for (int m = 512; m; m >>= 1, d <<= 1) {
            __syncthreads();
            if (t < m) s[d * (2 * t + 2) - 1] += s[d * (2 * t + 1) - 1];
        }
        __syncthreads();
        float total = s[1023];
        __syncthreads();
        if (t == 0) s[1023] = 0;
        for (int m = 1; m < 1024; m <<= 1) {
            d >>= 1;
            __syncthreads();
            if (t < m) {
                int a = d * (2 * t + 1) - 1, b = d * (2 * t + 2) - 1;
                float v = s[a];
                s[a] = s[b];
                s[b] += v;
            }
        }
        __syncthreads();
        for (int k = t; k < 1024 && first + k < n; k += 512) y[first + k] = carry + s[k] + x[first + k];
        carry += total;
        __syncthreads();
    }
}
