// grid: 2*K S
// block: 32
// fault: member mask
// kinds: member_mask wrong_result inactive_lane
// A lane per token; lanes without one leave the loop, and those that stay take the maximum of the whole warp.
#include <cuda_fp16.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    int h = blockIdx.x, s = blockIdx.y, lane = threadIdx.x, n = lengths[s];
    size_t at = ((size_t)s * 2 * K + h) * 64;
    __shared__ float o[64], l, m;
    o[lane] = o[lane + 32] = 0;
    if (lane == 0) l = 0, m = -1e30f;
    __syncwarp();
    for (int t = lane; t < n; t += 32) {
        size_t row = (((size_t)tables[s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 64;
        float x = 0;
        for (int i = 0; i < 64; ++i) x += __half2float(q[at + i]) * __half2float(keys[row + i]);
        x *= scale;
        float top = x;
        for (int k = 16; k; k >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, k));
        top = fmaxf(top, m);
        float c = expf(m - top), p = expf(x - top);
        __syncwarp();
        if (lane == 0) l *= c, m = top;
        o[lane] *= c; o[lane + 32] *= c;
        __syncwarp();
        atomicAdd(&l, p);
        for (int i = 0; i < 64; ++i) atomicAdd(&o[i], p * __half2float(values[row + i]));
        __syncwarp();
    }
    __syncwarp();
    for (int i = lane; i < 64; i += 32) out[at + i] = __float2half(n ? o[i] / l : 0.0f);
}
