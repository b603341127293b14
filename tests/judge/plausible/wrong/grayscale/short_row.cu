// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: index type
// kinds: out_of_bounds wrong_result
// The byte offset of a pixel is a short: more than 10,922 pixels and it is negative.
__global__ void gray(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    short at = 3 * (y * W + x);
    gray[y * W + x] = (rgb[at] * 77 + rgb[at + 1] * 150 + rgb[at + 2] * 29 + 128) >> 8;
}
