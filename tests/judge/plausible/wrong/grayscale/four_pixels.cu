// grid: ceil(H*W/1024)
// block: 256
// fault: tail of 4
// kinds: wrong_result misaligned
// Twelve bytes as three words, four pixels as one: the last H W % 4 pixels are left, and the arrays must lie at words.
__global__ void gray4(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= H * W / 4) return;
    unsigned w[3];
    for (int k = 0; k < 3; ++k) w[k] = reinterpret_cast<const unsigned*>(rgb)[3 * q + k];
    const unsigned char* p = reinterpret_cast<const unsigned char*>(w);
    uchar4 g;
    g.x = (77 * p[0] + 150 * p[1] + 29 * p[2] + 128) >> 8;
    g.y = (77 * p[3] + 150 * p[4] + 29 * p[5] + 128) >> 8;
    g.z = (77 * p[6] + 150 * p[7] + 29 * p[8] + 128) >> 8;
    g.w = (77 * p[9] + 150 * p[10] + 29 * p[11] + 128) >> 8;
    reinterpret_cast<uchar4*>(gray)[q] = g;
}
