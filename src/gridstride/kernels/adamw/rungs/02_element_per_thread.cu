// 02 element per thread: neighbouring lanes take neighbouring elements.
//
// Moves: sectors per request, from 32 to 4.
// Mapping: thread i -> element i.
//
// entry: adamw_element_per_thread
// block: 256
// grid: ceil(n/256)

// One element's step; m and v are the new ones when it returns.
__device__ __forceinline__ float stepped(
    float p, float& m, float& v, float g, float lr, float beta1, float beta2, float eps, float decay, float correction1,
    float correction2)
{
    m = beta1 * m + (1.0f - beta1) * g;
    v = beta2 * v + (1.0f - beta2) * g * g;
    return p * (1.0f - lr * decay) - lr / correction1 * m / (sqrtf(v) / sqrtf(correction2) + eps);
}

extern "C" __global__ void adamw_element_per_thread(
    float* p, float* m, float* v, const float* g, long long n,
    float lr, float beta1, float beta2, float eps, float decay, float correction1, float correction2)
{
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) p[i] = stepped(p[i], m[i], v[i], g[i], lr, beta1, beta2, eps, decay, correction1, correction2);
}
