// grid: H*G*Q
// block: 128
// Long long limit, -Inf maximum
#include <cuda_fp16.h>
__global__ void attention(const __half* q, const __half* k, const __half* v, __half* out, int H, int G, int Q, int K, int past, float scale)
{
    __shared__ float red[4];
    int b = blockIdx.x, i = b % Q, h = b / Q / G, d = threadIdx.x;
    float qd = __half2float(q[(size_t)b * 128 + d]) * scale;
    int end = (int)min((long long)K, (long long)i + past + 1);
    float m = -INFINITY, l = 0, acc = 0;
    for (int j = 0; j < end; j++) {
        size_t at = ((size_t)h * K + j) * 128 + d;
        float s = qd * __half2float(k[at]);
        for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
        if (d % 32 == 0) red[d / 32] = s;
        __syncthreads();
        s = red[0] + red[1] + red[2] + red[3];
        __syncthreads();
        float mn = fmaxf(m, s);
        float a = m == -INFINITY ? 0.f : expf(m - mn), p = expf(s - mn);
        l = l * a + p;
        acc = acc * a + p * __half2float(v[at]);
        m = mn;
    }
    out[(size_t)b * 128 + d] = __float2half(end > 0 ? acc / l : 0.f);
}
