// grid: ceil(H/16) ceil(H/16)
// block: 16 16
// fault: non-square
// kinds: wrong_result
// The grid has as many columns of blocks as rows: right where W is at most H, rounded up to 16.
__global__ void gray(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= W || y >= H) return;
    size_t i = (size_t)y * W + x;
    gray[i] = (rgb[3 * i] * 77 + rgb[3 * i + 1] * 150 + rgb[3 * i + 2] * 29 + 128) >> 8;
}
