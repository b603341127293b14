// Parts of arrays: a parameter that is a slice of a larger tensor begins anywhere.
//
// entry: adamw_parts_of_arrays
// block: 256
// grid: ceil(n/1024)
// expect: misaligned

extern "C" __global__ void adamw_parts_of_arrays(
    float* p, float* m, float* v, const float* g, long long n,
    float lr, float beta1, float beta2, float eps, float decay, float correction1, float correction2)
{
    const long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    for (long long i = n / 4 * 4 + t; i < n; i += gridDim.x * (long long)blockDim.x) {
        m[i] = beta1 * m[i] + (1.0f - beta1) * g[i];
        v[i] = beta2 * v[i] + (1.0f - beta2) * g[i] * g[i];
        p[i] = p[i] * (1.0f - lr * decay) - lr / correction1 * m[i] / (sqrtf(v[i] / correction2) + eps);
    }
    if (4 * t + 4 > n) return;
    float4 slopes = reinterpret_cast<const float4*>(g)[t];  // <- here
    for (int e = 0; e < 4; ++e) {
        const long long i = 4 * t + e;
        const float slope = reinterpret_cast<float*>(&slopes)[e];
        m[i] = beta1 * m[i] + (1.0f - beta1) * slope;
        v[i] = beta2 * v[i] + (1.0f - beta2) * slope * slope;
        p[i] = p[i] * (1.0f - lr * decay) - lr / correction1 * m[i] / (sqrtf(v[i] / correction2) + eps);
    }
}
