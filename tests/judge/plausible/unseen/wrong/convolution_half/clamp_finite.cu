// grid: ceil(N*H*W*K/128)
// block: 128
// fault: values
// kinds: wrong_result
// Finite sums above 65504 come as 65504 instead of Inf.

#include <cuda_fp16.h>
__global__ void convolution_half(const __half* im, const __half* w, __half* out, int N, int H, int W, int C, int K)
{
    long long i = blockIdx.x * 128ll + threadIdx.x; if (i >= (long long)N * H * W * K) return;
    int k = i % K, x = i / K % W, y = i / K / W % H; long long n = i / K / W / H; float a = 0;
    for (int r = 0; r < 3; r++) for (int s = 0; s < 3; s++) { int Y = y + r - 1, X = x + s - 1; if (Y >= 0 && Y < H && X >= 0 && X < W)
        for (int c = 0; c < C; c++) a += __half2float(im[((n * H + Y) * W + X) * C + c]) * __half2float(w[((k * 3 + r) * 3ll + s) * C + c]); }
    if (fabsf(a) < 1e30f) a = fminf(fmaxf(a, -65504.f), 65504.f);
    out[i] = __float2half(a);
}
