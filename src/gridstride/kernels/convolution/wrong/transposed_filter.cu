// Transposed filter: rows and columns of the filter are exchanged.
//
// entry: convolution_transposed_filter
// block: 32 8
// grid: ceil(W/32) ceil(H/8) P
// expect: wrong_result

extern "C" __global__ void convolution_transposed_filter(const float* image, const float* weights, float* filtered,
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
            if (y < 0 || y >= H || x < 0 || x >= W) continue;
            sum += weights[c * taps + r] * image[plane + (size_t)y * W + x];
        }
    }
    filtered[plane + (size_t)row * W + column] = sum;
}
