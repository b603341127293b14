// Black outside: beyond the picture is 0, which makes an edge of its edge.
//
// entry: sobel_black_outside
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: wrong_result

extern "C" __global__ void sobel_black_outside(const unsigned char* image, unsigned char* edges, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    const unsigned char* n = image + (size_t)max(row - 1, 0) * W;
    const unsigned char* m = image + (size_t)row * W;
    const unsigned char* s = image + (size_t)min(row + 1, H - 1) * W;
    const int w = max(column - 1, 0), e = min(column + 1, W - 1);
    const int gx = (column < W - 1 ? n[e] + 2 * m[e] + s[e] : 0) - (column > 0 ? n[w] + 2 * m[w] + s[w] : 0);
    const int gy = (s[w] + 2 * s[column] + s[e]) - (n[w] + 2 * n[column] + n[e]);
    edges[(size_t)row * W + column] = (abs(gx) + abs(gy) + 4) / 8;
}
