// grid: ceil(H*W/1024)
// block: 256
// fault: alignment per array
// kinds: misaligned
// Four pixels as three 32-bit words: rgb is only sure to be aligned to a byte.
__global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int n = H * W, p = (blockIdx.x * 256 + threadIdx.x) * 4;
    if (p + 4 <= n) {
        const unsigned int* w = (const unsigned int*)(rgb + 3 * p);
        unsigned int words[3] = {w[0], w[1], w[2]};
        const unsigned char* c = (const unsigned char*)words;
        for (int k = 0; k < 4; ++k) gray[p + k] = (77 * c[3 * k] + 150 * c[3 * k + 1] + 29 * c[3 * k + 2] + 128) >> 8;
    } else {
        for (int k = p; k < n; ++k) gray[k] = (77 * rgb[3 * k] + 150 * rgb[3 * k + 1] + 29 * rgb[3 * k + 2] + 128) >> 8;
    }
}
