// Pooling in two dimensions: the largest of a window (MEAN 0), or its mean over the pixels that are there, or with
// COUNT_PADS over those of the padded image.
//
// Mapping: a thread has an element of the result [planes, P, Q]; x is [planes, H, W] in C order.

#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef MEAN
#define MEAN 0
#endif
#ifndef COUNT_PADS
#define COUNT_PADS 0
#endif

extern "C" __global__ void onnx_pooling(
    const ELEMENT* x, ELEMENT* y, int n, int H, int W, int P, int Q, int R, int S, int stride_h, int stride_w, int pad_h,
    int pad_w, int end_h, int end_w, int step_h, int step_w)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int q = i % Q, p = i / Q % P;
    const ELEMENT* plane = x + (long long)(i / Q / P) * H * W;
    float value = MEAN ? 0.0f : __int_as_float(0xff800000);
    int count = 0;
    for (int r = 0; r < R; ++r) {
        const int row = p * stride_h - pad_h + r * step_h;
        for (int s = 0; s < S; ++s) {
            const int column = q * stride_w - pad_w + s * step_w;
            if (COUNT_PADS && row < H + end_h && column < W + end_w) ++count;
            if (row < 0 || row >= H || column < 0 || column >= W) continue;
            const float each = float(plane[row * W + column]);
            value = MEAN ? value + each : (each > value || each != each ? each : value);
            if (!COUNT_PADS) ++count;
        }
    }
    y[i] = ELEMENT(MEAN ? value / count : value);
}
