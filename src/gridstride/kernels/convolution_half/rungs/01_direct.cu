// 01 direct: one thread computes one channel of one pixel, from images and weights in global memory.
//
// Moves: nothing yet. Each channel of each of the nine taps is two loads, two conversions and a multiply-add in
//   float32. The pixel is the same for a warp, but its lanes' weights lie 9 C halves apart: a sector for each of them.
// Mapping: thread t of block b -> output channel (b * 256 + t) % K of pixel (b * 256 + t) / K, images, rows and columns
//   numbered through. Lanes run along the output channels. Taps outside the image are left out.
//
// entry: convolution_half_direct
// block: 256
// grid: ceil(N*H*W*K/256)

#include <cuda_fp16.h>

extern "C" __global__ void convolution_half_direct(const __half* __restrict__ images,
                                                   const __half* __restrict__ weights, __half* __restrict__ convolved,
                                                   int N, int H, int W, int C, int K)
{
    const size_t element = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (element >= (size_t)N * H * W * K) return;
    const int k = element % K;
    const size_t pixel = element / K;
    const int x = pixel % W, y = pixel / W % H;

    float sum = 0.0f;  // a half has 11 bits: from 2048 on it could not even count
    for (int r = 0; r < 3; ++r) {
        for (int s = 0; s < 3; ++s) {
            if (y + r < 1 || y + r > H || x + s < 1 || x + s > W) continue;
            const __half* image = images + (ptrdiff_t)(pixel + (ptrdiff_t)(r - 1) * W + s - 1) * C;
            const __half* weight = weights + ((size_t)k * 9 + r * 3 + s) * C;
            for (int c = 0; c < C; ++c) sum += __half2float(image[c]) * __half2float(weight[c]);
        }
    }
    convolved[element] = __float2half(sum);
}
