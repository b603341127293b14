// grid: ceil(n/1024)
// block: 256
// Fours, pairs or singles by alignment, each with its tail
__device__ void one(float* p, float* m, float* v, const float* g, long long i, float lr, float b1, float b2, float eps, float decay, float c1, float c2)
{
    float G = g[i], M = b1 * m[i] + (1 - b1) * G, V = b2 * v[i] + (1 - b2) * G * G;
    m[i] = M; v[i] = V;
    p[i] = p[i] * (1 - lr * decay) - lr / c1 * M / (sqrtf(V) / sqrtf(c2) + eps);
}
template <int W> __device__ void many(float* p, float* m, float* v, const float* g, long long n, float lr, float b1, float b2, float eps, float decay, float c1, float c2)
{
    struct alignas(4 * W) Vec { float e[W]; };
    long long step = gridDim.x * 256ll;
    for (long long k = blockIdx.x * 256ll + threadIdx.x; k < n / W; k += step) {
        Vec P = ((Vec*)p)[k], M = ((Vec*)m)[k], U = ((Vec*)v)[k], G = ((const Vec*)g)[k];
        for (int e = 0; e < W; e++) one(P.e, M.e, U.e, G.e, e, lr, b1, b2, eps, decay, c1, c2);
        ((Vec*)p)[k] = P; ((Vec*)m)[k] = M; ((Vec*)v)[k] = U;
    }
}
__global__ void adamw(float* p, float* m, float* v, const float* g, long long n, float lr, float beta1, float beta2, float eps, float decay, float correction1, float correction2)
{
    size_t a = (size_t)p | (size_t)m | (size_t)v | (size_t)g;
    long long tail = a % 16 ? n / 2 * 2 : n / 4 * 4;
    if (a % 16 == 0) many<4>(p, m, v, g, n, lr, beta1, beta2, eps, decay, correction1, correction2);
    else if (a % 8 == 0) many<2>(p, m, v, g, n, lr, beta1, beta2, eps, decay, correction1, correction2);
    else { many<1>(p, m, v, g, n, lr, beta1, beta2, eps, decay, correction1, correction2); return; }
    if (blockIdx.x == 0 && tail + threadIdx.x < n) one(p, m, v, g, tail + threadIdx.x, lr, beta1, beta2, eps, decay, correction1, correction2);
}
