// Decay at the end: the step just taken decays, too.
//
// entry: adamw_decay_at_the_end
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void adamw_decay_at_the_end(
    float* p, float* m, float* v, const float* g, long long n,
    float lr, float beta1, float beta2, float eps, float decay, float correction1, float correction2)
{
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    m[i] = beta1 * m[i] + (1.0f - beta1) * g[i];
    v[i] = beta2 * v[i] + (1.0f - beta2) * g[i] * g[i];
    p[i] -= lr / correction1 * m[i] / (sqrtf(v[i] / correction2) + eps);
    p[i] *= 1.0f - lr * decay;
}
