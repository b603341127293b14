// grid: ceil(n/256)
// block: 256
// fault: value of a number
// kinds: wrong_result
// With lr = 0 (the first step of a warm-up) nothing is done at all: m and v must go on.
__global__ void adamw(float* p, float* m, float* v, const float* g, long long n, float lr, float beta1, float beta2, float eps, float decay, float correction1, float correction2)
{
    if (lr == 0.f) return;
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float G = g[i], M = beta1 * m[i] + (1 - beta1) * G, V = beta2 * v[i] + (1 - beta2) * G * G;
    m[i] = M; v[i] = V;
    p[i] = p[i] * (1 - lr * decay) - lr / correction1 * M / (sqrtf(V) / sqrtf(correction2) + eps);
}
