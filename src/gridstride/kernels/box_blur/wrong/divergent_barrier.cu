// Divergent barrier: threads outside the image wait at another barrier than those inside, which need what they loaded.
//
// entry: blur_divergent_barrier
// block: 32 16
// grid: ceil(W/32) ceil(H/16)
// expect: barrier_divergence

extern "C" __global__ void blur_divergent_barrier(const float* image, float* blurred, int H, int W)
{
    __shared__ float tile[20][36];
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    for (int e = threadIdx.y * 32 + threadIdx.x; e < 36 * 20; e += 32 * 16) {
        const int r = (int)blockIdx.y * 16 - 2 + e / 36, c = (int)blockIdx.x * 32 - 2 + e % 36;
        const bool in_image = r >= 0 && r < H && c >= 0 && c < W;
        tile[e / 36][e % 36] = in_image ? image[r * W + c] : 0.0f;
    }
    float sum = 0.0f;
    if (row < H && column < W) {
        __syncthreads();  // <- here
        for (int r = 0; r < 5; ++r) {
            for (int c = 0; c < 5; ++c) sum += tile[threadIdx.y + r][threadIdx.x + c];
        }
        const int rows = min(row + 2, H - 1) - max(row - 2, 0) + 1;
        const int columns = min(column + 2, W - 1) - max(column - 2, 0) + 1;
        sum /= rows * columns;
    }
    __syncthreads();  // <- here
    tile[threadIdx.y][threadIdx.x] = sum;
    if (row < H && column < W) blurred[row * W + column] = tile[threadIdx.y][threadIdx.x];
}
