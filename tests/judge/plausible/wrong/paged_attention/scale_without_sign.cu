// grid: S 2*K
// block: 64
// fault: value range
// kinds: wrong_result
// The scale is taken without its sign (as 1/sqrt(d) always has): a negative one turns the ranking round.
#include <cuda_fp16.h>
__global__ void attend(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ float part[2];
    int s = blockIdx.x, h = blockIdx.y, d = threadIdx.x;
    float qd = __half2float(q[((size_t)s * 2 * K + h) * 64 + d]), top = -INFINITY, sum = 0, acc = 0;
    for (int t = 0; t < lengths[s]; t++) {
        size_t row = (((size_t)tables[(size_t)s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 64 + d;
        float p = qd * __half2float(keys[row]);
        for (int o = 16; o; o /= 2) p += __shfl_xor_sync(~0u, p, o);
        if (d % 32 == 0) part[d / 32] = p;
        __syncthreads();
        p = (part[0] + part[1]) * fabsf(scale);
        __syncthreads();
        float m = fmaxf(top, p), f = __expf(top - m), w = __expf(p - m);
        sum = sum * f + w; acc = acc * f + w * __half2float(values[row]); top = m;
    }
    out[((size_t)s * 2 * K + h) * 64 + d] = __float2half(sum > 0 ? acc / sum : 0.0f);
}
