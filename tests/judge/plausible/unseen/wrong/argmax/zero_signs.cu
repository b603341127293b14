// grid: 1
// block: 1024
// fault: values
// kinds: wrong_result
// Keys by bits, so +0 is above -0: x = {-0, +0} gives 1.

__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ unsigned long long s[1024];
    unsigned long long m = 0;
    for (int i = threadIdx.x; i < n; i += 1024) {
        float v = x[i]; unsigned u = __float_as_uint(v);
        u = v != v ? 0xffffffffu : (u >> 31 ? ~u : u | 0x80000000u);
        unsigned long long k = (unsigned long long)u << 32 | ~(unsigned)i;
        if (k > m) m = k;
    }
    s[threadIdx.x] = m; __syncthreads();
    for (int k = 512; k; k /= 2) { if (threadIdx.x < k && s[threadIdx.x + k] > s[threadIdx.x]) s[threadIdx.x] = s[threadIdx.x + k]; __syncthreads(); }
    if (threadIdx.x == 0) *best = (unsigned)~(unsigned)s[0];
}
