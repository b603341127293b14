// Border ignored: the windows of the first and last pixels reach outside the planes, and nothing checks it.
//
// entry: convolution_border_ignored
// block: 32 8
// grid: ceil(W/32) ceil(H/8) P
// expect: out_of_bounds

extern "C" __global__ void convolution_border_ignored(const float* image, const float* weights, float* filtered,
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
            sum += weights[r * taps + c] * image[plane + (long long)y * W + x];  // <- here
        }
    }
    filtered[plane + (size_t)row * W + column] = sum;
}
