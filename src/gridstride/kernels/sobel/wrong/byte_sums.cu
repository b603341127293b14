// Byte sums: the gradients are kept in bytes, which hold no sign and a quarter of the largest sum.
//
// entry: sobel_byte_sums
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: wrong_result

extern "C" __global__ void sobel_byte_sums(const unsigned char* image, unsigned char* edges, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    const unsigned char* n = image + (size_t)max(row - 1, 0) * W;
    const unsigned char* m = image + (size_t)row * W;
    const unsigned char* s = image + (size_t)min(row + 1, H - 1) * W;
    const int w = max(column - 1, 0), e = min(column + 1, W - 1);
    const unsigned char gx = (n[e] + 2 * m[e] + s[e]) - (n[w] + 2 * m[w] + s[w]);
    const unsigned char gy = (s[w] + 2 * s[column] + s[e]) - (n[w] + 2 * n[column] + n[e]);
    edges[(size_t)row * W + column] = (gx + gy + 4) / 8;
}
