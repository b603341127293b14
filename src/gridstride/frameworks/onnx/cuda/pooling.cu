// Pooling in three dimensions: the largest of a window (MEAN 0), or its mean over the pixels that are there, or with
// COUNT_PADS over those of the padded image. An image has a depth of 1, and so has its window.
//
// Mapping: a thread has an element of the result [volumes, U, P, Q]; x is [volumes, D, H, W] in C order. `places` may be
//   null; else it gets where in x each of the largest lies, of equals the first.

#include "elements.cuh"

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
    const ELEMENT* x, ELEMENT* y, long long* places, int n, int D, int H, int W, int U, int P, int Q, int T, int R,
    int S, int stride_d, int stride_h, int stride_w, int pad_d, int pad_h, int pad_w, int end_d, int end_h, int end_w,
    int step_d, int step_h, int step_w)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int q = i % Q, p = i / Q % P, u = i / Q / P % U;
    const long long start = (long long)(i / Q / P / U) * D * H * W;
    SUM value = MEAN ? SUM(0) : SUM(-__int_as_float(0x7f800000));
    long long place = -1;
    int count = 0;
    for (int t = 0; t < T; ++t) {
        const int layer = u * stride_d - pad_d + t * step_d;
        for (int r = 0; r < R; ++r) {
            const int row = p * stride_h - pad_h + r * step_h;
            for (int s = 0; s < S; ++s) {
                const int column = q * stride_w - pad_w + s * step_w;
                if (COUNT_PADS && layer < D + end_d && row < H + end_h && column < W + end_w) ++count;
                if (layer < 0 || layer >= D || row < 0 || row >= H || column < 0 || column >= W) continue;
                const long long at = start + ((long long)layer * H + row) * W + column;
                const SUM each = SUM(x[at]);
                const bool better = place < 0 || each > value || (each != each && value == value);
                value = MEAN ? value + each : better ? each : value;
                place = better ? at : place;
                if (!COUNT_PADS) ++count;
            }
        }
    }
    y[i] = (ELEMENT)(MEAN ? value / count : value);
    if (places) places[i] = place;
}
