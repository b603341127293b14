// right: unsigned dot product of four bytes
// grid: 8*SMS
// block: 192
__global__ void grayscale(const unsigned char* __restrict__ rgb, unsigned char* __restrict__ gray, int H, int W)
{
    unsigned n = (unsigned)H * W;
    for (unsigned i = blockIdx.x * 192 + threadIdx.x; i < n; i += gridDim.x * 192) {
        unsigned pixel = rgb[3 * i] | rgb[3 * i + 1] << 8 | rgb[3 * i + 2] << 16;
        gray[i] = __dp4a(pixel, 77u | 150u << 8 | 29u << 16, 128u) >> 8;
    }
}
