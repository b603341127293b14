// grid: 1
// block: 256
// Template block size; value first, then the lowest index with atomicMin in shared memory.
template <int B> __device__ void go(const float* x, long long* best, int n)
{
    __shared__ float s[B]; __shared__ int nan, at;
    int t = threadIdx.x;
    if (t == 0) { nan = 2147483647; at = 2147483647; }
    __syncthreads();
    float m = -INFINITY; int first = 2147483647;
    for (int i = t; i < n; i += B) { float v = x[i]; if (v != v) first = min(first, i); m = fmaxf(m, v); }
    if (first < 2147483647) atomicMin(&nan, first);
    s[t] = m; __syncthreads();
    #pragma unroll
    for (int o = B / 2; o; o >>= 1) { if (t < o) s[t] = fmaxf(s[t], s[t + o]); __syncthreads(); }
    m = s[0];
    for (int i = t; i < n; i += B) if (x[i] == m) { atomicMin(&at, i); break; }
    __syncthreads();
    if (t == 0) *best = nan < 2147483647 ? nan : at;
}
__global__ void argmax(const float* x, long long* best, int n) { go<256>(x, best, n); }
