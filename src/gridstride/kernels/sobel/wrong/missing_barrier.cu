// Missing barrier: a thread reads the pixels around its own before the others have put them into the tile.
//
// entry: sobel_missing_barrier
// block: 32 16
// grid: ceil(W/32) ceil(H/16)
// expect: race

constexpr int TILE_W = 32, TILE_H = 16;
constexpr int WIDTH = TILE_W + 2, HEIGHT = TILE_H + 2;

extern "C" __global__ void __launch_bounds__(TILE_W * TILE_H)
sobel_missing_barrier(const unsigned char* __restrict__ image, unsigned char* __restrict__ edges, int H, int W)
{
    __shared__ unsigned char tile[HEIGHT][WIDTH];

    const int first_row = (int)blockIdx.y * TILE_H - 1, first_column = (int)blockIdx.x * TILE_W - 1;
    for (int k = threadIdx.y * TILE_W + threadIdx.x; k < WIDTH * HEIGHT; k += TILE_W * TILE_H) {
        const int r = min(max(first_row + k / WIDTH, 0), H - 1), c = min(max(first_column + k % WIDTH, 0), W - 1);
        tile[k / WIDTH][k % WIDTH] = image[(size_t)r * W + c];  // <- here
    }

    const int column = blockIdx.x * TILE_W + threadIdx.x, row = blockIdx.y * TILE_H + threadIdx.y;
    if (row >= H || column >= W) return;
    const unsigned char *n = &tile[threadIdx.y][threadIdx.x], *m = n + WIDTH, *s = m + WIDTH;
    const int gx = (n[2] + 2 * m[2] + s[2]) - (n[0] + 2 * m[0] + s[0]);  // <- here
    const int gy = (s[0] + 2 * s[1] + s[2]) - (n[0] + 2 * n[1] + n[2]);  // <- here
    edges[(size_t)row * W + column] = (abs(gx) + abs(gy) + 4) / 8;
}
