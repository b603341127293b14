// grid: 1
// block: 1024
// fault: one element
// kinds: wrong_result
// N == 1 is answered from a special case that adds 0 * x "for NaN" ... y = x + 0 * x is NaN for Inf.
__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float s[1024];
    int t = threadIdx.x, per = (n + 1023) / 1024;
    if (n == 1) { if (t == 0) y[0] = isinf(x[0]) ? NAN : x[0]; return; }
    float a = 0;
    for (int k = 0; k < per; k++) { long long i = (long long)t * per + k; if (i < n) a += x[i]; }
    s[t] = a;
    for (int o = 1; o < 1024; o *= 2) {
        __syncthreads();
        float v = t >= o ? s[t - o] : 0.f;
        __syncthreads();
        s[t] += v;
    }
    __syncthreads();
    float r = t ? s[t - 1] : 0.f;
    for (int k = 0; k < per; k++) { long long i = (long long)t * per + k; if (i < n) y[i] = r += x[i]; }
}
