// 03 four pixels: a thread walks down four columns, four bytes a load, and sorts a column once for three pixels.
//
// Moves: global requests, from ten a pixel to 10 / 8 loads and a store for four of them, and instructions: six columns
//   are sorted for four pixels, not twelve.
// Mapping: lane l of a warp -> columns 4 l ... 4 l + 3 of its 128, in 8 rows. The 4 warps of a block lie one above the
//   other. Where rows are no multiple of four bytes, pixel by pixel as in 02.
//
// entry: median_four_pixels
// block: 32 4
// grid: ceil(W/128) ceil(H/32)

constexpr int ROWS = 8;  // that a warp walks
constexpr unsigned int ALL = 0xffffffff;

// Puts a and b in order.
__device__ __forceinline__ void order(int& a, int& b)
{
    const int less = min(a, b);
    b = max(a, b);
    a = less;
}

__device__ __forceinline__ int middle(int a, int b, int c) { return max(min(a, b), min(max(a, b), c)); }

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

__device__ __forceinline__ void one_pixel(const unsigned char* image, unsigned char* smooth, int row, int column, int H,
                                          int W)
{
    int p[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        const int y = min(max(row + k / 3 - 1, 0), H - 1), x = min(max(column + k % 3 - 1, 0), W - 1);
        p[k] = image[(size_t)y * W + x];
    }
#pragma unroll
    for (int k = 0; k < 3; ++k) {  // each column from above to below
        order(p[k], p[k + 3]);
        order(p[k + 3], p[k + 6]);
        order(p[k], p[k + 3]);
    }
    const int low = max(max(p[0], p[1]), p[2]), high = min(min(p[6], p[7]), p[8]);
    smooth[(size_t)row * W + column] = middle(low, middle(p[3], p[4], p[5]), high);
}

extern "C" __global__ void __launch_bounds__(128)
median_four_pixels(const unsigned char* __restrict__ image, unsigned char* __restrict__ smooth, int H, int W)
{
    const int column = blockIdx.x * 128 + 4 * threadIdx.x;
    const int first_row = (blockIdx.y * 4 + threadIdx.y) * ROWS;
    const int last_row = min(first_row + ROWS, H);  // one past the last that is written
    if (W % 4 != 0 || (((size_t)image | (size_t)smooth) & 3) != 0) {
        for (int row = first_row; row < last_row; ++row) {
            for (int c = column; c < min(column + 4, W); ++c) one_pixel(image, smooth, row, c, H, W);
        }
        return;
    }

    Row n = load(image, first_row - 1, column, H, W), m = load(image, first_row, column, H, W);
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {
        const int row = first_row + k;
        const Row s = load(image, row + 1, column, H, W);
        int least[6], mid[6], greatest[6];
#pragma unroll
        for (int x = 0; x < 6; ++x) {
            least[x] = n.pixel[x], mid[x] = m.pixel[x], greatest[x] = s.pixel[x];
            order(least[x], mid[x]);
            order(mid[x], greatest[x]);
            order(least[x], mid[x]);
        }
        unsigned int four = 0;
#pragma unroll
        for (int x = 0; x < 4; ++x) {
            const int low = max(max(least[x], least[x + 1]), least[x + 2]);
            const int high = min(min(greatest[x], greatest[x + 1]), greatest[x + 2]);
            four |= (unsigned int)middle(low, middle(mid[x], mid[x + 1], mid[x + 2]), high) << 8 * x;
        }
        if (row < last_row && column < W) *reinterpret_cast<unsigned int*>(smooth + (size_t)row * W + column) = four;
        n = m;
        m = s;
    }
}
