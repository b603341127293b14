// Convolution in two dimensions as ONNX has it: strides, pads, dilations, groups, bias, activation.
//
// Mapping: a thread has an element of the result, neighbours along a row. x is [N, C, H, W], w [O, C/groups, R, S], both
//   in C order, y [N, O, P, Q].

#include <cuda_fp16.h>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef ACTIVATION
#define ACTIVATION(v) (v)
#endif

extern "C" __global__ void onnx_convolution(
    const ELEMENT* x, const ELEMENT* w, const ELEMENT* bias, ELEMENT* y, int n, int C, int H, int W, int O, int P,
    int Q, int R, int S, int groups, int stride_h, int stride_w, int pad_h, int pad_w, int step_h, int step_w)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int q = i % Q, p = i / Q % P, o = i / Q / P % O, image = i / Q / P / O;
    const int channels = C / groups, first = o / (O / groups) * channels;
    float sum = bias ? float(bias[o]) : 0.0f;
    for (int c = 0; c < channels; ++c) {
        const ELEMENT* plane = x + ((long long)image * C + first + c) * H * W;
        const ELEMENT* taps = w + ((long long)o * channels + c) * R * S;
        for (int r = 0; r < R; ++r) {
            const int row = p * stride_h - pad_h + r * step_h;
            if (row < 0 || row >= H) continue;
            for (int s = 0; s < S; ++s) {
                const int column = q * stride_w - pad_w + s * step_w;
                if (column >= 0 && column < W) sum += float(plane[row * W + column]) * float(taps[r * S + s]);
            }
        }
    }
    y[i] = ELEMENT(ACTIVATION(sum));
}
