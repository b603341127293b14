// right: x times the logistic function of 2u, division by __fdiv_rn, grid-stride, template
// grid: 4*SMS
// block: 160
// entry: gelu
template <int UNROLL> __device__ void walk(const float* x, float* y, long long n)
{
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step * UNROLL) {
#pragma unroll
        for (int k = 0; k < UNROLL; ++k)
            if (i + k * step < n) {
                const float v = x[i + k * step];
                const float u = 0.7978845608028654f * (v + 0.044715f * v * v * v);
                y[i + k * step] = v * __fdiv_rn(1.0f, 1.0f + expf(-2.0f * u));
            }
    }
}

__global__ void gelu(const float* x, float* y, long long n) { walk<3>(x, y, n); }
