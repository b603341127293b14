// Transposed convolution in three dimensions as ONNX has it: strides, pads, dilations, groups, bias. An image has a depth
// of 1, and so has its window.
//
// Mapping: a thread has an element of the result y [N, O, U, P, Q] and gathers what reaches it; x is [N, C, D, H, W], w
//   [C, O/groups, T, R, S], all in C order.

#include "elements.cuh"

extern "C" __global__ void onnx_convolution_transposed(
    const ELEMENT* x, const ELEMENT* w, const ELEMENT* bias, ELEMENT* y, int n, int C, int D, int H, int W, int O, int U, int P, int Q,
    int T, int R, int S, int groups, int stride_d, int stride_h, int stride_w, int pad_d, int pad_h, int pad_w,
    int step_d, int step_h, int step_w)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int q = i % Q, p = i / Q % P, u = i / Q / P % U, o = i / Q / P / U % O, image = i / Q / P / U / O;
    const int kernels = O / groups, channels = C / groups, first = o / kernels * channels;
    SUM sum = bias ? SUM(bias[o]) : SUM(0);
    for (int c = first; c < first + channels; ++c) {
        const ELEMENT* volume = x + ((long long)image * C + c) * D * H * W;
        const ELEMENT* window = w + ((long long)c * kernels + o % kernels) * T * R * S;
        for (int t = 0; t < T; ++t) {
            const int deep = u + pad_d - t * step_d, layer = deep / stride_d;
            if (deep < 0 || deep % stride_d || layer >= D) continue;
            const ELEMENT* plane = volume + (long long)layer * H * W;
            const ELEMENT* taps = window + t * R * S;
            for (int r = 0; r < R; ++r) {
                const int down = p + pad_h - r * step_h, row = down / stride_h;
                if (down < 0 || down % stride_h || row >= H) continue;
                for (int s = 0; s < S; ++s) {
                    const int right = q + pad_w - s * step_w, column = right / stride_w;
                    if (right >= 0 && right % stride_w == 0 && column < W)
                        sum += SUM(plane[row * W + column]) * SUM(taps[r * S + s]);
                }
            }
        }
    }
    y[i] = ELEMENT(sum);
}
