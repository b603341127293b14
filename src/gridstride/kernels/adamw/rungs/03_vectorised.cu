// 03 vectorised: four elements per load and store, two such vectors of four arrays on their way for a thread; what is
//   the same for all elements is worked out once.
//
// Moves: load and store instructions, to 1/4; bytes in flight, by 8; divisions, from three an element to one.
// Mapping: thread t of block b -> vectors 2 T b + t and 2 T b + T + t, T threads in a block. Elements behind the last
//   whole vector, and arrays that do not begin at a whole one, go one by one.
//
// entry: adamw_vectorised
// block: 256
// grid: ceil(n/2048)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float  // of parameters and gradients; the moments are float
#endif

constexpr int THREADS = 256;
constexpr int VECTOR = 4;
constexpr int UNROLL = 2;

template <typename T> struct alignas(VECTOR * sizeof(T)) Vector {
    T of[VECTOR];
};

struct Step {
    float beta1, beta2, eps, kept, rate, root;

    __device__ __forceinline__ float operator()(float p, float& m, float& v, float g) const
    {
        m = beta1 * m + (1.0f - beta1) * g;
        v = beta2 * v + (1.0f - beta2) * g * g;
        return p * kept - rate * m / (sqrtf(v) * root + eps);
    }
};

extern "C" __global__ void __launch_bounds__(THREADS) adamw_vectorised(
    ELEMENT* __restrict__ p, float* __restrict__ m, float* __restrict__ v, const ELEMENT* __restrict__ g, long long n,
    float lr, float beta1, float beta2, float eps, float decay, float correction1, float correction2)
{
    const Step step = {beta1, beta2, eps, 1.0f - lr * decay, lr / correction1, rsqrtf(correction2)};
    const bool aligned = (((size_t)m | (size_t)v) % 16 | ((size_t)p | (size_t)g) % (VECTOR * sizeof(ELEMENT))) == 0;
    const long long vectors = aligned ? n / VECTOR : 0;
    const long long first = blockIdx.x * (long long)(UNROLL * THREADS) + threadIdx.x;
    Vector<ELEMENT> ps[UNROLL], gs[UNROLL];
    Vector<float> ms[UNROLL], vs[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
        const long long i = first + k * THREADS;
        if (i >= vectors) break;
        ps[k] = reinterpret_cast<Vector<ELEMENT>*>(p)[i];
        ms[k] = reinterpret_cast<Vector<float>*>(m)[i];
        vs[k] = reinterpret_cast<Vector<float>*>(v)[i];
        gs[k] = reinterpret_cast<const Vector<ELEMENT>*>(g)[i];
    }
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
        const long long i = first + k * THREADS;
        if (i >= vectors) break;
#pragma unroll
        for (int e = 0; e < VECTOR; ++e)
            ps[k].of[e] = ELEMENT(step(float(ps[k].of[e]), ms[k].of[e], vs[k].of[e], float(gs[k].of[e])));
        reinterpret_cast<Vector<ELEMENT>*>(p)[i] = ps[k];
        reinterpret_cast<Vector<float>*>(m)[i] = ms[k];
        reinterpret_cast<Vector<float>*>(v)[i] = vs[k];
    }
    const long long all = gridDim.x * (long long)THREADS;
    for (long long i = vectors * VECTOR + blockIdx.x * (long long)THREADS + threadIdx.x; i < n; i += all)
        p[i] = ELEMENT(step(float(p[i]), m[i], v[i], float(g[i])));
}
