// Eps corrected: the root's correction is divided out of eps, too.
//
// entry: adamw_eps_corrected
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void adamw_eps_corrected(
    float* p, float* m, float* v, const float* g, long long n,
    float lr, float beta1, float beta2, float eps, float decay, float correction1, float correction2)
{
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    m[i] = beta1 * m[i] + (1.0f - beta1) * g[i];
    v[i] = beta2 * v[i] + (1.0f - beta2) * g[i] * g[i];
    p[i] = p[i] * (1.0f - lr * decay) - lr / correction1 * m[i] / ((sqrtf(v[i]) + eps) / sqrtf(correction2));
}
