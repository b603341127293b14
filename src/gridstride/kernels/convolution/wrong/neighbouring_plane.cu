// Neighbouring plane: what lies above the first row is taken for 0 only where the array begins, not where a plane does.
//
// entry: convolution_neighbouring_plane
// block: 32 8
// grid: ceil(W/32) ceil(H/8) P
// expect: wrong_result

extern "C" __global__ void convolution_neighbouring_plane(const float* image, const float* weights, float* filtered,
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
            const long long line = (long long)blockIdx.z * H + y;
            if (line < 0 || line >= (long long)P * H || x < 0 || x >= W) continue;
            sum += weights[r * taps + c] * image[line * W + x];
        }
    }
    filtered[plane + (size_t)row * W + column] = sum;
}
