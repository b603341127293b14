// grid: min(ceil(n/256),1024)
// block: 256
// fault: index in a float
// kinds: wrong_result
// Value and index travel as float2: indices above 2^24 are rounded (n = 268,435,456).
__device__ float2 parts[1024];
__device__ unsigned done;
__device__ float2 better(float2 a, float2 b)
{
    bool an = a.x != a.x, bn = b.x != b.x;
    bool second = an == bn ? (an || a.x == b.x ? b.y < a.y : b.x > a.x) : bn;
    return second ? b : a;
}
__device__ float2 all(float2 v, float2* s)
{
    s[threadIdx.x] = v; __syncthreads();
    for (int o = 128; o; o >>= 1) { if (threadIdx.x < o) s[threadIdx.x] = better(s[threadIdx.x], s[threadIdx.x + o]); __syncthreads(); }
    return s[0];
}
__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ float2 s[256];
    __shared__ bool last;
    float2 m = make_float2(-INFINITY, 3e9f);
    for (long long i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) m = better(m, make_float2(x[i], (float)i));
    m = all(m, s);
    if (threadIdx.x == 0) { parts[blockIdx.x] = m; __threadfence(); last = atomicAdd(&done, 1) == gridDim.x - 1; }
    __syncthreads();
    if (!last) return;
    __threadfence();
    m = make_float2(-INFINITY, 3e9f);
    for (int b = threadIdx.x; b < gridDim.x; b += 256) m = better(m, __ldcg(&parts[b]));
    m = all(m, s);
    if (threadIdx.x == 0) { *best = (long long)m.y; done = 0; }
}
