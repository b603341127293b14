// Sums in half: each multiply-add is rounded to 11 bits, and from 2048 on adding 1 changes nothing.
//
// entry: convolution_half_sums_in_half
// block: 256
// grid: ceil(N*H*W*K/256)
// expect: wrong_result

#include <cuda_fp16.h>

extern "C" __global__ void convolution_half_sums_in_half(
    const __half* __restrict__ images, const __half* __restrict__ weights, __half* __restrict__ convolved,
    int N, int H, int W, int C, int K)
{
    const size_t element = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (element >= (size_t)N * H * W * K) return;
    const int k = element % K;
    const size_t pixel = element / K;
    const int x = pixel % W, y = pixel / W % H;

    __half sum = 0.0f;
    for (int r = 0; r < 3; ++r) {
        for (int s = 0; s < 3; ++s) {
            if (y + r < 1 || y + r > H || x + s < 1 || x + s > W) continue;
            const __half* image = images + (ptrdiff_t)(pixel + (ptrdiff_t)(r - 1) * W + s - 1) * C;
            const __half* weight = weights + ((size_t)k * 9 + r * 3 + s) * C;
            for (int c = 0; c < C; ++c) sum = __hfma(image[c], weight[c], sum);
        }
    }
    convolved[element] = sum;
}
