// grid: rows
// block: 128
// fault: finite floor
// kinds: wrong_result
// The maximum begins at -1e38: a row of finite elements all below it (-3e38) is 0 / 0
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    const float* r = x + (size_t)blockIdx.x * columns;
    float m = -1e38f;
    for (int c = t; c < columns; c += 128) m = fmaxf(m, r[c]);
    s[t] = m; __syncthreads();
    for (int o = 64; o; o >>= 1) { if (t < o) s[t] = fmaxf(s[t], s[t + o]); __syncthreads(); }
    m = s[0]; __syncthreads();
    float l = 0;
    for (int c = t; c < columns; c += 128) l += expf(r[c] - m);
    s[t] = l; __syncthreads();
    for (int o = 64; o; o >>= 1) { if (t < o) s[t] += s[t + o]; __syncthreads(); }
    l = s[0];
    for (int c = t; c < columns; c += 128) y[(size_t)blockIdx.x * columns + c] = expf(r[c] - m) / l;
}
