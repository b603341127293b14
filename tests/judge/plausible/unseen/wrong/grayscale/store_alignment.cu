// grid: ceil(H*W/1024)
// block: 256
// fault: alignment
// kinds: misaligned
// Four grey pixels are stored as one word though only rgb is tested for its alignment: misaligned where gray lies 1, 2 or 3 bytes past (H W >= 4).

__device__ __forceinline__ unsigned luma(unsigned r, unsigned g, unsigned b) { return (77 * r + 150 * g + 29 * b + 128) >> 8; }

__global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int pixels = H * W, i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= pixels) return;
    if ((reinterpret_cast<size_t>(rgb) & 3) == 0 && i + 4 <= pixels) {
        const unsigned* words = reinterpret_cast<const unsigned*>(rgb + 3 * (size_t)i);
        const unsigned u = words[0], v = words[1], w = words[2];
        const unsigned p0 = luma(u & 255, u >> 8 & 255, u >> 16 & 255), p1 = luma(u >> 24, v & 255, v >> 8 & 255);
        const unsigned p2 = luma(v >> 16 & 255, v >> 24, w & 255), p3 = luma(w >> 8 & 255, w >> 16 & 255, w >> 24);
        *reinterpret_cast<unsigned*>(gray + i) = p0 | p1 << 8 | p2 << 16 | p3 << 24;
    } else {
        for (int k = i; k < min(pixels, i + 4); ++k) gray[k] = luma(rgb[3 * (size_t)k], rgb[3 * (size_t)k + 1], rgb[3 * (size_t)k + 2]);
    }
}
