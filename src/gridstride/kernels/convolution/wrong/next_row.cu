// Next row: a window that reaches beyond the end of a row takes its pixels from the beginning of the next one.
//
// entry: convolution_next_row
// block: 32 8
// grid: ceil(W/32) ceil(H/8) P
// expect: wrong_result

extern "C" __global__ void convolution_next_row(const float* image, const float* weights, float* filtered,
                                                int P, int H, int W, int R)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;
    const int taps = 2 * R + 1;
    const size_t plane = (size_t)blockIdx.z * H * W;
    float sum = 0.0f;
    for (int r = 0; r < taps; ++r) {
        for (int c = 0; c < taps; ++c) {
            const int y = row + r - R, x = column + c - R;
            if (y < 0 || y >= H) continue;
            const long long at = (long long)y * W + x;
            if (at >= 0 && at < (long long)H * W) sum += weights[r * taps + c] * image[plane + at];
        }
    }
    filtered[plane + (size_t)row * W + column] = sum;
}
