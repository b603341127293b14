// Decay in the gradient: that is Adam with L2; through the root, large gradients decay less.
//
// entry: adamw_decay_in_the_gradient
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void adamw_decay_in_the_gradient(
    float* p, float* m, float* v, const float* g, long long n,
    float lr, float beta1, float beta2, float eps, float decay, float correction1, float correction2)
{
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float with_decay = g[i] + decay * p[i];
    m[i] = beta1 * m[i] + (1.0f - beta1) * with_decay;
    v[i] = beta2 * v[i] + (1.0f - beta2) * with_decay * with_decay;
    p[i] -= lr / correction1 * m[i] / (sqrtf(v[i] / correction2) + eps);
}
