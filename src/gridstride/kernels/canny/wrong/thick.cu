// Thick: on a plateau of two pixels that are equally strong, both are kept.
//
// entry: canny_thick
// block: 32 8
// grid: min(ceil(W/32)*ceil(H/32), 4*SMS)
// cooperative: yes
// expect: wrong_result

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int WARPS = 8;
constexpr int SIDE = 32;  // pixels of a tile, both ways
constexpr unsigned short WEAK = 1, EDGE = 2;
constexpr int SLOPE = 13573;  // of 22.5 degrees, in 32768ths

__device__ int news[3];  // whether a round has made an edge: of this round, the one before and the next

// gx and gy of a pixel; beyond the picture the nearest one counts again.
__device__ __forceinline__ int2 gradient(const unsigned char* image, int row, int column, int H, int W)
{
    const unsigned char* n = image + (size_t)max(row - 1, 0) * W;
    const unsigned char* m = image + (size_t)row * W;
    const unsigned char* s = image + (size_t)min(row + 1, H - 1) * W;
    const int w = max(column - 1, 0), e = min(column + 1, W - 1);
    return make_int2((n[e] + 2 * m[e] + s[e]) - (n[w] + 2 * m[w] + s[w]),
                     (s[w] + 2 * s[column] + s[e]) - (n[w] + 2 * n[column] + n[e]));
}

// The neighbour behind a pixel along its gradient: rows down and columns to the right.
__device__ __forceinline__ int2 along(int2 g)
{
    if (32768 * abs(g.y) < SLOPE * abs(g.x)) return make_int2(0, 1);
    if (32768 * abs(g.x) < SLOPE * abs(g.y)) return make_int2(1, 0);
    return make_int2(1, g.x * g.y > 0 ? 1 : -1);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 4)
canny_thick(const unsigned char* image, unsigned char* edges, unsigned short* work, int H, int W, int low,
      int high)
{
    const cg::grid_group grid = cg::this_grid();
    const size_t pixels = (size_t)H * W;
    const int across = (W + SIDE - 1) / SIDE, tiles = across * ((H + SIDE - 1) / SIDE);

    // For each pixel of the thread: its row, its column and its number.
    const auto each = [&](auto act) {
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int first = tile / across * SIDE, column = tile % across * SIDE + threadIdx.x;
            if (column >= W) continue;
#pragma unroll 1
            for (int row = first + threadIdx.y; row < min(first + SIDE, H); row += WARPS) {
                act(row, column, (size_t)row * W + column);
            }
        }
    };

    unsigned short *now = work, *next = work + pixels;
    if (grid.thread_rank() < 3) news[grid.thread_rank()] = 0;
    const auto strength = [&](int row, int column) {
        if (row < 0 || row >= H || column < 0 || column >= W) return 0;
        const int2 g = gradient(image, row, column, H, W);
        return abs(g.x) + abs(g.y);
    };
    each([&](int row, int column, size_t i) {
        const int2 g = gradient(image, row, column, H, W), step = along(g);
        const int own = abs(g.x) + abs(g.y);
        const bool ridge =
            own >= strength(row - step.x, column - step.y) && own >= strength(row + step.x, column + step.y);
        now[i] = ridge && own >= high ? EDGE : ridge && own >= low ? WEAK : 0;
    });
    grid.sync();

#pragma unroll 1
    for (int round = 0;; ++round) {
        bool grew = false;
        each([&](int row, int column, size_t i) {
            int kind = now[i];
            if (kind == WEAK) {
                for (int y = max(row - 1, 0); y <= min(row + 1, H - 1); ++y) {
                    for (int x = max(column - 1, 0); x <= min(column + 1, W - 1); ++x) {
                        if (now[(size_t)y * W + x] == EDGE) kind = EDGE;
                    }
                }
                grew |= kind == EDGE;
            }
            next[i] = kind;
        });
        if (grew) atomicExch(&news[round % 3], 1);
        grid.sync();
        unsigned short* const old = now;
        now = next;
        next = old;
        const bool more = atomicAdd(&news[round % 3], 0) != 0;
        if (grid.thread_rank() == 0) atomicExch(&news[(round + 2) % 3], 0);
        if (!more) break;
    }
    each([&](int row, int column, size_t i) { edges[i] = now[i] == EDGE; });
}
