// No halo: the tile holds the block's own pixels only, so windows that reach into the next tile are cut off.
//
// entry: convolution_no_halo
// block: 32 16
// grid: ceil(W/32) ceil(H/16) P
// expect: wrong_result

extern "C" __global__ void convolution_no_halo(const float* image, const float* weights, float* filtered,
                                               int P, int H, int W, int R)
{
    __shared__ float tile[16][32];
    const int taps = 2 * R + 1, x = threadIdx.x, y = threadIdx.y;
    const size_t plane = (size_t)blockIdx.z * H * W;
    const int column = blockIdx.x * 32 + x, row = blockIdx.y * 16 + y;
    const bool inside = row < H && column < W;
    tile[y][x] = inside ? image[plane + (size_t)row * W + column] : 0.0f;
    __syncthreads();
    if (!inside) return;
    float sum = 0.0f;
    for (int r = max(0, R - y); r < min(taps, 16 + R - y); ++r) {
        for (int c = max(0, R - x); c < min(taps, 32 + R - x); ++c) {
            sum += weights[r * taps + c] * tile[y + r - R][x + c - R];
        }
    }
    filtered[plane + (size_t)row * W + column] = sum;
}
