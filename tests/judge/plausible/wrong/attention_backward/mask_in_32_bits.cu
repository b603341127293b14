// grid: K H
// block: 128
// fault: sizes
// kinds: wrong_result
// The mask's edge is a sum of 32 bits, which wraps where `past` is as large as it may be.
#include <cuda_fp16.h>
__global__ void attention_backward(const __half* q, const __half* k, const __half* v, const __half* dout, const float* lse, const float* delta, float* dq, __half* dk, __half* dv, int H, int G, int Q, int K, int past, float scale)
{
    __shared__ float s[2][8];
    int j = blockIdx.x, h = blockIdx.y, d = threadIdx.x, turn = 0; long long kv = ((long long)h * K + j) * 128 + d;
    float kk = __half2float(k[kv]), vv = __half2float(v[kv]), gk = 0, gv = 0;
    for (int g = 0; g < G; g++) for (int i = 0; i < Q; i++) {
        if (j > i + past) continue;
        long long row = ((long long)h * G + g) * Q + i, at = row * 128 + d;
        float qq = __half2float(q[at]), oo = __half2float(dout[at]), a = qq * kk, b = oo * vv;
        for (int o = 16; o; o >>= 1) { a += __shfl_xor_sync(~0u, a, o); b += __shfl_xor_sync(~0u, b, o); }
        float* t = s[turn]; turn ^= 1;
        if (d % 32 == 0) { t[d / 32] = a; t[4 + d / 32] = b; }
        __syncthreads();
        a = t[0] + t[1] + t[2] + t[3]; b = t[4] + t[5] + t[6] + t[7];
        float P = expf(scale * a - lse[row]), S = P * (b - delta[row]);
        gv += P * oo; gk += S * qq;
        atomicAdd(&dq[at], scale * S * kk);
    }
    dk[kv] = __float2half(scale * gk); dv[kv] = __float2half(gv);
}
