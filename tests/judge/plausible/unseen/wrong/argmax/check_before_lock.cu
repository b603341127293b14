// grid: ceil(n/256)
// block: 256
// fault: check before lock
// kinds: wrong_result
// The lock is given back with a fence before it, but the value is looked at once before it is taken:
// what was the largest then may no longer be so, and is overwritten by a smaller one.
__device__ unsigned largest;
__device__ int where = 0x7fffffff;
__device__ unsigned arrived, lock;

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
        unsigned seen = atomicAdd(&largest, 0u);
        if (k[0] >= seen) {
            while (atomicCAS(&lock, 0u, 1u)) {}
            __threadfence();
            int before = atomicAdd(&where, 0);
            atomicExch(&largest, k[0]);
            atomicExch(&where, k[0] == seen ? min(before, p[0]) : p[0]);
            __threadfence();
            atomicExch(&lock, 0u);
        }
        __threadfence();
        if (atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1) {
            __threadfence();
            *best = atomicExch(&where, 0x7fffffff);
            atomicExch(&largest, 0u);
        }
    }
}
