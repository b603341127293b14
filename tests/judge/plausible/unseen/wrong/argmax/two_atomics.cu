// grid: ceil(n/256)
// block: 256
// fault: two atomics
// kinds: wrong_result unrepeatable
// Value and index are two atomics: between one block's atomicMax and its atomicExch another block may put in
// a larger value and its index, which the first then overwrites.
__device__ unsigned largest;
__device__ int where = 0x7fffffff;
__device__ unsigned arrived;

__device__ __forceinline__ unsigned order(float v)
{
    if (v != v) return 0xffffffffu;
    if (v == 0) v = 0.0f;
    unsigned u = __float_as_uint(v);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ unsigned k[256];
    __shared__ int p[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    k[t] = i < n ? order(x[i]) : 0;
    p[t] = i;
    __syncthreads();
    for (int d = 128; d; d >>= 1) {
        if (t < d && (k[t + d] > k[t] || (k[t + d] == k[t] && p[t + d] < p[t]))) k[t] = k[t + d], p[t] = p[t + d];
        __syncthreads();
    }
    if (t == 0) {
        unsigned old = atomicMax(&largest, k[0]);
        if (k[0] > old) atomicExch(&where, p[0]);
        else if (k[0] == old) atomicMin(&where, p[0]);
        __threadfence();
        if (atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1) {
            __threadfence();
            *best = atomicExch(&where, 0x7fffffff);
            atomicExch(&largest, 0u);
        }
    }
}
