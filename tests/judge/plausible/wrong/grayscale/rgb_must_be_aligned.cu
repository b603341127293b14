// grid: ceil(H*W/512)
// block: 128
// fault: alignment
// kinds: misaligned
// Four pixels' twelve bytes come as three words, with a scalar tail; rgb may begin at any byte, though.
typedef unsigned char u8;
__device__ u8 luma(u8 r, u8 g, u8 b) { return (r * 77 + g * 150 + b * 29 + 128) / 256; }
__global__ void gray(const u8* rgb, u8* gray, int H, int W)
{
    int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x), n = H * W;
    if (first + 4 <= n) {
        const uchar4* p = (const uchar4*)(rgb + 3 * first);
        uchar4 a = p[0], b = p[1], c = p[2];
        gray[first] = luma(a.x, a.y, a.z);
        gray[first + 1] = luma(a.w, b.x, b.y);
        gray[first + 2] = luma(b.z, b.w, c.x);
        gray[first + 3] = luma(c.y, c.z, c.w);
    } else {
        for (int i = first; i < n; ++i) gray[i] = luma(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
    }
}
