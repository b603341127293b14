// grid: 1
// block: 1024
// fault: product of 32 bits
// kinds: wrong_result
// One block, pieces of threads: t * n / 1024 wraps in 32 bits at the timed 2^28 from thread 16 on.

__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ float s[1024]; __shared__ unsigned p[1024]; unsigned t = threadIdx.x, b = t * n / 1024, e = t == 1023 ? n : (t + 1) * n / 1024, w = 0xffffffffu; float m = 0;
    for (unsigned i = b; i < e; i++) { float v = x[i]; if (w == 0xffffffffu || (m == m && (v > m || v != v))) { m = v; w = i; } }
    s[t] = m; p[t] = w; __syncthreads();
    for (int k = 512; k; k /= 2) { if (t < k) { float v = s[t + k]; unsigned q = p[t + k]; m = s[t]; w = p[t];
        if (q != 0xffffffffu && (w == 0xffffffffu || (v != v ? m == m || q < w : m == m && (v > m || (v == m && q < w))))) { s[t] = v; p[t] = q; } } __syncthreads(); }
    if (t == 0) *best = p[0];
}
