// Missing barrier: a thread adds up its window before its neighbours have loaded their part of the tile.
//
// entry: convolution_missing_barrier
// block: 32 16
// grid: ceil(W/32) ceil(H/16) P
// shared: 4*(32+2*R)*(16+2*R)
// expect: race

extern "C" __global__ void convolution_missing_barrier(const float* image, const float* weights, float* filtered,
                                                       int P, int H, int W, int R)
{
    extern __shared__ float tile[];
    const int taps = 2 * R + 1, pitch = 32 + 2 * R;
    const size_t plane = (size_t)blockIdx.z * H * W;
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    for (int r = threadIdx.y; r < 16 + 2 * R; r += 16) {
        for (int c = threadIdx.x; c < pitch; c += 32) {
            const int y = (int)blockIdx.y * 16 - R + r, x = (int)blockIdx.x * 32 - R + c;
            const bool inside = y >= 0 && y < H && x >= 0 && x < W;
            tile[r * pitch + c] = inside ? image[plane + (size_t)y * W + x] : 0.0f;  // <- here
        }
    }
    if (row >= H || column >= W) return;
    float sum = 0.0f;
    for (int r = 0; r < taps; ++r) {
        for (int c = 0; c < taps; ++c) {
            sum += weights[r * taps + c] * tile[(threadIdx.y + r) * pitch + threadIdx.x + c];  // <- here
        }
    }
    filtered[plane + (size_t)row * W + column] = sum;
}
