// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: bounds
// kinds: out_of_bounds
// Row <= H lets one row too many through where H % 8 != 0: a row beyond the image is read and written.

__global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (column < W && row <= H) {
        const unsigned char* p = rgb + ((size_t)row * W + column) * 3;
        gray[(size_t)row * W + column] = (77 * p[0] + 150 * p[1] + 29 * p[2] + 128) / 256;
    }
}
