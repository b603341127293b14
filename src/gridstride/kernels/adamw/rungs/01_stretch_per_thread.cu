// 01 stretch per thread: each thread takes sixteen elements in a row, all that is to be done with them in one kernel.
//
// Moves: nothing yet. Neighbouring lanes are 64 bytes apart, so every request touches 32 sectors and uses an eighth.
// Mapping: thread i -> elements 16 i to 16 i + 15.
//
// entry: adamw_stretch_per_thread
// block: 128
// grid: ceil(n/2048)

constexpr int STRETCH = 16;

// One element's step; m and v are the new ones when it returns.
__device__ __forceinline__ float stepped(
    float p, float& m, float& v, float g, float lr, float beta1, float beta2, float eps, float decay, float correction1,
    float correction2)
{
    m = beta1 * m + (1.0f - beta1) * g;
    v = beta2 * v + (1.0f - beta2) * g * g;
    return p * (1.0f - lr * decay) - lr / correction1 * m / (sqrtf(v) / sqrtf(correction2) + eps);
}

extern "C" __global__ void adamw_stretch_per_thread(
    float* p, float* m, float* v, const float* g, long long n,
    float lr, float beta1, float beta2, float eps, float decay, float correction1, float correction2)
{
    const long long first = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * STRETCH;
    for (long long i = first; i < first + STRETCH && i < n; ++i)
        p[i] = stepped(p[i], m[i], v[i], g[i], lr, beta1, beta2, eps, decay, correction1, correction2);
}
