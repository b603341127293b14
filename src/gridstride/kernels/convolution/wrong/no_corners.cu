// No corners: each thread at an edge of the tile loads the halo beside it, and nobody loads the four corners.
//
// entry: convolution_no_corners
// block: 32 16
// grid: ceil(W/32) ceil(H/16) P
// shared: 4*(32+2*R)*(16+2*R)
// expect: uninitialised_read

extern "C" __global__ void convolution_no_corners(const float* image, const float* weights, float* filtered,
                                                  int P, int H, int W, int R)
{
    extern __shared__ float tile[];
    const int taps = 2 * R + 1, pitch = 32 + 2 * R;
    const size_t plane = (size_t)blockIdx.z * H * W;
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    const auto put = [&](int r, int c) {
        const int y = (int)blockIdx.y * 16 - R + r, x = (int)blockIdx.x * 32 - R + c;
        const bool inside = y >= 0 && y < H && x >= 0 && x < W;
        tile[r * pitch + c] = inside ? image[plane + (size_t)y * W + x] : 0.0f;
    };
    const int x = threadIdx.x, y = threadIdx.y;
    put(y + R, x + R);
    if (x < R) put(y + R, x), put(y + R, x + 32 + R);
    if (y < R) put(y, x + R), put(y + 16 + R, x + R);
    __syncthreads();
    if (row >= H || column >= W) return;
    float sum = 0.0f;
    for (int r = 0; r < taps; ++r) {
        for (int c = 0; c < taps; ++c) {
            sum += weights[r * taps + c] * tile[(threadIdx.y + r) * pitch + threadIdx.x + c];  // <- here
        }
    }
    filtered[plane + (size_t)row * W + column] = sum;
}
