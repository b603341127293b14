// grid: 1
// block: 1024
// fault: values
// kinds: wrong_result
// Stops where the residual's square is a billionth of what it was: four steps are asked for.
__device__ float dot1(float v, float* s)
{
    int t = threadIdx.x; s[t] = v; __syncthreads();
    for (int o = 512; o; o >>= 1) { if (t < o) s[t] += s[t + o]; __syncthreads(); }
    float r = s[0]; __syncthreads(); return r;
}
__global__ void conjugate_gradients(const float* b, const float* start, float* x, float* work, int H, int W, float r)
{
    __shared__ float s[1024];
    long long n = (long long)H * W; float *g = work, *p = work + n, *q = work + 2 * n;
    auto A = [&](const float* u, long long i) { int y = i / W, c = i % W; float a = 0;
        if (y > 0) a += u[i - W]; if (y < H - 1) a += u[i + W]; if (c > 0) a += u[i - 1]; if (c < W - 1) a += u[i + 1];
        return (1 + 4 * r) * u[i] - r * a; };
    float d = 0;
    for (long long i = threadIdx.x; i < n; i += 1024) { float v = b[i] - A(start, i); x[i] = start[i]; g[i] = v; p[i] = v; d += v * v; }
    float gg = dot1(d, s), first = gg;
    for (int k = 0; k < 4; k++) {
        d = 0;
        for (long long i = threadIdx.x; i < n; i += 1024) { float v = A(p, i); q[i] = v; d += v * p[i]; }
        float pp = dot1(d, s); float a = gg > 1e-9f * first ? gg / pp : 0.f; d = 0;
        for (long long i = threadIdx.x; i < n; i += 1024) { x[i] += a * p[i]; float v = g[i] - a * q[i]; g[i] = v; d += v * v; }
        float n2 = dot1(d, s), beta = gg > 1e-9f * first ? n2 / gg : 0.f; gg = n2;
        for (long long i = threadIdx.x; i < n; i += 1024) p[i] = g[i] + beta * p[i];
        __syncthreads();
    }
}
