// grid: 1
// block: 1024
// fault: index in a float
// kinds: wrong_result
// As floatindex, but with 32-bit loop and index: (float)i of an int, back by (int): indices above 2^24 are rounded.
__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ float v[1024], k[1024];
    int t = threadIdx.x;
    float m = -INFINITY, at = 2147483648.f;
    auto take = [&](float w, float j) {
        bool an = m != m, bn = w != w;
        if (an == bn ? (an || m == w ? j < at : w > m) : bn) { m = w; at = j; }
    };
    for (int i = t; i < n; i += 1024) take(x[i], i);
    v[t] = m; k[t] = at; __syncthreads();
    for (int o = 512; o; o >>= 1) { if (t < o) { take(v[t + o], k[t + o]); v[t] = m; k[t] = at; } __syncthreads(); }
    if (t == 0) *best = (int)k[0];
}
