// A block of 32 by 8 loads its pixels and a rim of 2 around them into shared memory, and the filter as well.
//
// entry: halo_8
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

constexpr int RADIUS = 2;  // pixels to each side: a window of 5 by 5
constexpr int TAPS = 2 * RADIUS + 1;
constexpr int WIDE = 32, TALL = 8;  // pixels of a block
constexpr int TILE_WIDE = WIDE + 2 * RADIUS, TILE_TALL = TALL + 2 * RADIUS;

extern "C" __global__ void halo_8(const float* image, const float* weights, float* out, int H, int W)
{
    __shared__ float tile[TILE_TALL][TILE_WIDE], filter[TAPS * TAPS];

    const int t = threadIdx.y * WIDE + threadIdx.x;
    if (t < TAPS * TAPS) filter[t] = weights[t];

    const int top = blockIdx.y * TALL - RADIUS;
    const int left = blockIdx.x * WIDE - RADIUS;
    for (int r = threadIdx.y; r < TILE_TALL; r += TALL) {
        for (int c = threadIdx.x; c < TILE_WIDE; c += WIDE) {
            const int y = top + r, x = left + c;
            const bool inside = y >= 0 && y < H && x >= 0 && x < W;
            tile[r][c] = inside ? image[y * W + x] : 0.0f;
        }
    }
    __syncthreads();

    const int column = blockIdx.x * WIDE + threadIdx.x;
    const int row = blockIdx.y * TALL + threadIdx.y;
    if (row >= H || column >= W) return;
    float sum = 0.0f;
    for (int r = 0; r < TAPS; ++r) {
        for (int c = 0; c < TAPS; ++c) {
            const float pixel = tile[threadIdx.y + r][threadIdx.x + c];
            sum += filter[r * TAPS + c] * pixel;
        }
    }
    out[row * W + column] = sum;
}
