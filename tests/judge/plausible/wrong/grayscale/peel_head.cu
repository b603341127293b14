// fault: up to three pixels before gray's next word are not cut to H W: a 1 x 1 image with gray 1 byte past writes gray[1] and gray[2]
// kinds: out_of_bounds
// grid: ceil(H*W/1024)+1
// block: 256
__global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    auto luma = [&](int i) { return (unsigned)(77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2] + 128) >> 8; };
    int t = blockIdx.x * 256 + threadIdx.x, total = H * W;
    int head = -(int)(size_t)gray & 3, words = (total - head) / 4;
    if (t < head) gray[t] = luma(t);
    if (t < words) {
        int i = head + 4 * t;
        *(unsigned*)(gray + i) = luma(i) | luma(i + 1) << 8 | luma(i + 2) << 16 | luma(i + 3) << 24;
    }
    int done = head + 4 * words;
    if (done + t < total) gray[done + t] = luma(done + t);
}
