// grid: 512
// block: 512
// fault: sizes
// kinds: wrong_result
// A block for each of 512 rows, and none for those behind them.
__global__ void fft(const float* x, float* X, int rows)
{
    __shared__ float2 s[1024];
    if (blockIdx.x >= rows) return;
    const float2* in = (const float2*)x + (long long)blockIdx.x * 1024; float2* out = (float2*)X + (long long)blockIdx.x * 1024;
    int t = threadIdx.x;
    for (int i = t; i < 1024; i += 512) s[__brev(i) >> 22] = in[i];
    __syncthreads();
    for (int h = 1; h < 1024; h *= 2) {
        int k = t & (h - 1), a = (t / h) * 2 * h + k, b = a + h; float sn, cs; sincospif(-(float)k / h, &sn, &cs);
        float2 p = s[a], q = s[b], w = make_float2(q.x * cs - q.y * sn, q.x * sn + q.y * cs);
        s[a] = make_float2(p.x + w.x, p.y + w.y); s[b] = make_float2(p.x - w.x, p.y - w.y);
        __syncthreads();
    }
    for (int i = t; i < 1024; i += 512) out[i] = s[i];
}
