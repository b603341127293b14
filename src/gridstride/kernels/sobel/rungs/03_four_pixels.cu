// 03 four pixels: a thread walks down four columns, asks for four bytes at a time, and keeps the last two rows.
//
// Moves: global requests, to a half: 10 / 8 loads of four pixels and a store of four, where each was loaded 1.2 times
//   and stored by itself; shared memory is gone, as pixels beside the four come by shuffle. Column sums and
//   differences serve the three pixels that need them.
// Mapping: lane l of a warp -> columns 4 l ... 4 l + 3 of its 128, in 8 rows. The 4 warps of a block lie one above the
//   other. Where rows are no multiple of four bytes, pixel by pixel as in 01.
//
// entry: sobel_four_pixels
// block: 32 4
// grid: ceil(W/128) ceil(H/32)

constexpr int ROWS = 8;  // that a warp walks
constexpr unsigned int ALL = 0xffffffff;

// Six pixels of a row: four of the lane's own, and those beside them.
struct Row {
    int pixel[6];
};

__device__ __forceinline__ Row load(const unsigned char* image, int row, int column, int H, int W)
{
    const unsigned char* p = image + (size_t)min(max(row, 0), H - 1) * W;
    const bool inside = column < W;
    const unsigned int own = inside ? *reinterpret_cast<const unsigned int*>(p + column) : 0u;
    unsigned int left = __shfl_up_sync(ALL, own, 1) >> 24, right = __shfl_down_sync(ALL, own, 1) & 255;
    if (inside && threadIdx.x == 0) left = p[max(column - 1, 0)];
    if (inside && (threadIdx.x == 31 || column + 4 >= W)) right = p[min(column + 4, W - 1)];
    return {(int)left, (int)(own & 255), (int)(own >> 8 & 255), (int)(own >> 16 & 255), (int)(own >> 24), (int)right};
}

__device__ __forceinline__ void one_pixel(const unsigned char* image, unsigned char* edges, int row, int column, int H,
                                          int W)
{
    const unsigned char* n = image + (size_t)max(row - 1, 0) * W;
    const unsigned char* m = image + (size_t)row * W;
    const unsigned char* s = image + (size_t)min(row + 1, H - 1) * W;
    const int w = max(column - 1, 0), e = min(column + 1, W - 1);
    const int gx = (n[e] + 2 * m[e] + s[e]) - (n[w] + 2 * m[w] + s[w]);
    const int gy = (s[w] + 2 * s[column] + s[e]) - (n[w] + 2 * n[column] + n[e]);
    edges[(size_t)row * W + column] = (abs(gx) + abs(gy) + 4) / 8;
}

extern "C" __global__ void __launch_bounds__(128)
sobel_four_pixels(const unsigned char* __restrict__ image, unsigned char* __restrict__ edges, int H, int W)
{
    const int column = blockIdx.x * 128 + 4 * threadIdx.x;
    const int first_row = (blockIdx.y * 4 + threadIdx.y) * ROWS;
    const int last_row = min(first_row + ROWS, H);  // one past the last that is written
    if (W % 4 != 0 || (((size_t)image | (size_t)edges) & 3) != 0) {
        for (int row = first_row; row < last_row; ++row) {
            for (int c = column; c < min(column + 4, W); ++c) one_pixel(image, edges, row, c, H, W);
        }
        return;
    }

    Row n = load(image, first_row - 1, column, H, W), m = load(image, first_row, column, H, W);
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {
        const int row = first_row + k;
        const Row s = load(image, row + 1, column, H, W);
        int sums[6], differences[6];
#pragma unroll
        for (int c = 0; c < 6; ++c) {
            sums[c] = n.pixel[c] + 2 * m.pixel[c] + s.pixel[c];
            differences[c] = s.pixel[c] - n.pixel[c];
        }
        unsigned int result = 0;
#pragma unroll
        for (int c = 1; c < 5; ++c) {
            const int gx = sums[c + 1] - sums[c - 1];
            const int gy = differences[c - 1] + 2 * differences[c] + differences[c + 1];
            result |= (unsigned int)(abs(gx) + abs(gy) + 4) / 8 << 8 * (c - 1);
        }
        if (row < last_row && column < W) *reinterpret_cast<unsigned int*>(edges + (size_t)row * W + column) = result;
        n = m, m = s;
    }
}
