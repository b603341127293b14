// Convolution of 8-bit integers with 32-bit sums, in three dimensions as ONNX has it; x and w less their zero points. An
// image has a depth of 1, and so has its window.
//
// Mapping: a thread has an element of the result, neighbours along a row. x is [N, C, D, H, W], w [O, C/groups, T, R, S],
//   both in C order, y [N, O, U, P, Q]. What lies outside of x is its zero point, and adds nothing.
//
// X and WEIGHT: signed or unsigned char. per_channel: w has a zero point for each of its O.

#ifndef X
#define X unsigned char
#endif
#ifndef WEIGHT
#define WEIGHT signed char
#endif

extern "C" __global__ void onnx_convolution_int8(
    const X* x, const WEIGHT* w, const X* zero_x, const WEIGHT* zero_w, int per_channel, int* y, int n, int C, int D, int H, int W, int O, int U, int P, int Q,
    int T, int R, int S, int groups, int stride_d, int stride_h, int stride_w, int pad_d, int pad_h, int pad_w,
    int step_d, int step_h, int step_w)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int q = i % Q, p = i / Q % P, u = i / Q / P % U, o = i / Q / P / U % O, image = i / Q / P / U / O;
    const int channels = C / groups, first = o / (O / groups) * channels;
    const int zx = zero_x ? int(*zero_x) : 0, zw = zero_w ? int(zero_w[per_channel ? o : 0]) : 0;
    int sum = 0;
    for (int c = 0; c < channels; ++c) {
        const X* volume = x + ((long long)image * C + first + c) * D * H * W;
        const WEIGHT* window = w + ((long long)o * channels + c) * T * R * S;
        for (int t = 0; t < T; ++t) {
            const int layer = u * stride_d - pad_d + t * step_d;
            if (layer < 0 || layer >= D) continue;
            const X* plane = volume + (long long)layer * H * W;
            const WEIGHT* taps = window + t * R * S;
            for (int r = 0; r < R; ++r) {
                const int row = p * stride_h - pad_h + r * step_h;
                if (row < 0 || row >= H) continue;
                for (int s = 0; s < S; ++s) {
                    const int column = q * stride_w - pad_w + s * step_w;
                    if (column >= 0 && column < W) sum += (plane[row * W + column] - zx) * (taps[r * S + s] - zw);
                }
            }
        }
    }
    y[i] = sum;
}
