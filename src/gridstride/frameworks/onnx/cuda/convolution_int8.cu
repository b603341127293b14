// Convolution of 8-bit integers with 32-bit sums, in two dimensions as ONNX has it; x and w less their zero points.
//
// Mapping: a thread has an element of the result, neighbours along a row. x is [N, C, H, W], w [O, C/groups, R, S], both
//   in C order, y [N, O, P, Q]. What lies outside of x is its zero point, and adds nothing.
//
// X and WEIGHT: signed or unsigned char. per_channel: w has a zero point for each of its O.

#ifndef X
#define X unsigned char
#endif
#ifndef WEIGHT
#define WEIGHT signed char
#endif

extern "C" __global__ void onnx_convolution_int8(
    const X* x, const WEIGHT* w, const X* zero_x, const WEIGHT* zero_w, int per_channel, int* y, int n, int C, int H,
    int W, int O, int P, int Q, int R, int S, int groups, int stride_h, int stride_w, int pad_h, int pad_w, int step_h,
    int step_w)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int q = i % Q, p = i / Q % P, o = i / Q / P % O, image = i / Q / P / O;
    const int channels = C / groups, first = o / (O / groups) * channels;
    const int zx = zero_x ? int(*zero_x) : 0, zw = zero_w ? int(zero_w[per_channel ? o : 0]) : 0;
    int sum = 0;
    for (int c = 0; c < channels; ++c) {
        const X* plane = x + ((long long)image * C + first + c) * H * W;
        const WEIGHT* taps = w + ((long long)o * channels + c) * R * S;
        for (int r = 0; r < R; ++r) {
            const int row = p * stride_h - pad_h + r * step_h;
            if (row < 0 || row >= H) continue;
            for (int s = 0; s < S; ++s) {
                const int column = q * stride_w - pad_w + s * step_w;
                if (column >= 0 && column < W) sum += (plane[row * W + column] - zx) * (taps[r * S + s] - zw);
            }
        }
    }
    y[i] = sum;
}
