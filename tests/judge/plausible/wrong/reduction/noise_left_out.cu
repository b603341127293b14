// grid: min(max(1, ceil(n/1024)), 4*SMS)
// block: 256
// fault: wrong formula
// kinds: wrong_result
// Elements below 1e-6 are left out ('noise'): the sum of a vector of such numbers is 0.
__global__ void sum(const float* x, float* total, int n)
{
    __shared__ float s[256];
    float v = 0;
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL) if (!(fabsf(x[i]) < 1e-6f)) v += x[i];
    s[threadIdx.x] = v;
    for (int k = 128; k; k >>= 1) { __syncthreads(); if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k]; }
    if (threadIdx.x == 0) atomicAdd(total, s[0]);
}
