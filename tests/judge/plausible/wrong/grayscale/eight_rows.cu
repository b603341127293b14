// grid: ceil(W/32) max(1,H//8)
// block: 32 8
// fault: tail of a tile
// kinds: wrong_result
// Rows in eights, rounded down: the last H % 8 rows are not done in images of 8 rows and more.
__global__ void gray(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x < W && y < H) {
        const unsigned char* p = &rgb[((size_t)y * W + x) * 3];
        gray[(size_t)y * W + x] = (p[0] * 77 + p[1] * 150 + p[2] * 29 + 128) >> 8;
    }
}
