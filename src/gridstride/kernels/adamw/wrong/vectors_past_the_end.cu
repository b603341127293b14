// Vectors past the end: the last thread takes four elements, also where one is left.
//
// entry: adamw_vectors_past_the_end
// block: 256
// grid: ceil(n/1024)
// expect: out_of_bounds

extern "C" __global__ void adamw_vectors_past_the_end(
    float* p, float* m, float* v, const float* g, long long n,
    float lr, float beta1, float beta2, float eps, float decay, float correction1, float correction2)
{
    const long long first = 4 * (blockIdx.x * (long long)blockDim.x + threadIdx.x);
    if (first >= n) return;
    for (long long i = first; i < first + 4; ++i) {
        m[i] = beta1 * m[i] + (1.0f - beta1) * g[i];  // <- here
        v[i] = beta2 * v[i] + (1.0f - beta2) * g[i] * g[i];
        p[i] = p[i] * (1.0f - lr * decay) - lr / correction1 * m[i] / (sqrtf(v[i] / correction2) + eps);
    }
}
