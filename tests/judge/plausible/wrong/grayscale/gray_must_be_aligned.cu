// grid: ceil(H*W/512)
// block: 256
// fault: alignment
// kinds: misaligned
// Reads bytes and writes two results as one short: an image in grey that begins at an odd byte is not allowed for.
__global__ void gray2(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    int i = 2 * (blockIdx.x * 256 + threadIdx.x), n = H * W;
    auto luma = [&](int k) { return (77u * rgb[3 * k] + 150u * rgb[3 * k + 1] + 29u * rgb[3 * k + 2] + 128u) >> 8; };
    if (i + 1 < n)
        *(unsigned short*)(gray + i) = (unsigned short)(luma(i) | luma(i + 1) << 8);
    else if (i < n)
        gray[i] = luma(i);
}
