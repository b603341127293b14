// Unguarded columns: the pixels left of the first column and right of the last are read where there are none.
//
// entry: sobel_unguarded_columns
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: out_of_bounds

extern "C" __global__ void sobel_unguarded_columns(const unsigned char* image, unsigned char* edges, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    const unsigned char* n = image + (size_t)max(row - 1, 0) * W;
    const unsigned char* m = image + (size_t)row * W;
    const unsigned char* s = image + (size_t)min(row + 1, H - 1) * W;
    const int w = column - 1, e = column + 1;
    const int gx = (n[e] + 2 * m[e] + s[e]) - (n[w] + 2 * m[w] + s[w]);  // <- here
    const int gy = (s[w] + 2 * s[column] + s[e]) - (n[w] + 2 * n[column] + n[e]);  // <- here
    edges[(size_t)row * W + column] = (abs(gx) + abs(gy) + 4) / 8;
}
