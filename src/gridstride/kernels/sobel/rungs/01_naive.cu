// 01 naive: a thread reads the eight pixels around its own, byte by byte.
//
// Moves: nothing yet. Eight loads for a byte, each of 32 bytes for a warp, an eighth of what a request can bring.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y.
//
// entry: sobel_naive
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

extern "C" __global__ void sobel_naive(const unsigned char* image, unsigned char* edges, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    const unsigned char* n = image + (size_t)max(row - 1, 0) * W;
    const unsigned char* m = image + (size_t)row * W;
    const unsigned char* s = image + (size_t)min(row + 1, H - 1) * W;
    const int w = max(column - 1, 0), e = min(column + 1, W - 1);
    const int gx = (n[e] + 2 * m[e] + s[e]) - (n[w] + 2 * m[w] + s[w]);
    const int gy = (s[w] + 2 * s[column] + s[e]) - (n[w] + 2 * n[column] + n[e]);
    edges[(size_t)row * W + column] = (abs(gx) + abs(gy) + 4) / 8;
}
