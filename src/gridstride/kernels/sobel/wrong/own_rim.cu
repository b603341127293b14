// Own rim: the tile has no rim of its neighbours' pixels; at its edge its own are counted again.
//
// entry: sobel_own_rim
// block: 32 16
// grid: ceil(W/32) ceil(H/16)
// expect: wrong_result

constexpr int TILE_W = 32, TILE_H = 16;
constexpr int WIDTH = TILE_W + 2, HEIGHT = TILE_H + 2;

extern "C" __global__ void __launch_bounds__(TILE_W * TILE_H)
sobel_own_rim(const unsigned char* __restrict__ image, unsigned char* __restrict__ edges, int H, int W)
{
    __shared__ unsigned char tile[HEIGHT][WIDTH];

    const int first_row = (int)blockIdx.y * TILE_H - 1, first_column = (int)blockIdx.x * TILE_W - 1;
    for (int k = threadIdx.y * TILE_W + threadIdx.x; k < WIDTH * HEIGHT; k += TILE_W * TILE_H) {
        const int r =
            min(max(first_row + k / WIDTH, first_row + 1), min(first_row + TILE_H, H - 1));
        const int c =
            min(max(first_column + k % WIDTH, first_column + 1), min(first_column + TILE_W, W - 1));
        tile[k / WIDTH][k % WIDTH] = image[(size_t)r * W + c];
    }
    __syncthreads();

    const int column = blockIdx.x * TILE_W + threadIdx.x, row = blockIdx.y * TILE_H + threadIdx.y;
    if (row >= H || column >= W) return;
    const unsigned char *n = &tile[threadIdx.y][threadIdx.x], *m = n + WIDTH, *s = m + WIDTH;
    const int gx = (n[2] + 2 * m[2] + s[2]) - (n[0] + 2 * m[0] + s[0]);
    const int gy = (s[0] + 2 * s[1] + s[2]) - (n[0] + 2 * n[1] + n[2]);
    edges[(size_t)row * W + column] = (abs(gx) + abs(gy) + 4) / 8;
}
