// grid: ceil(parts/4)
// block: 32
// Four parts in a warp, each with a tile of eight threads that reduces by cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void rms_norm_backward(
    const float* x, const float* weight, const float* dy, float* dx, float* partial, int rows, int columns, int parts,
    float eps)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int part = blockIdx.x * 4 + tile.meta_group_rank(), t = tile.thread_rank();
    if (part >= parts) return;
    for (int c = t; c < columns; c += 8) partial[(size_t)part * columns + c] = 0;
    for (int row = part; row < rows; row += parts) {
        size_t at = (size_t)row * columns;
        double a = 0, b = 0;
        for (int c = t; c < columns; c += 8) a += x[at + c] * (double)x[at + c];
        float r = rsqrt(cg::reduce(tile, a, cg::plus<double>()) / columns + eps);
        for (int c = t; c < columns; c += 8) b += dy[at + c] * weight[c] * (x[at + c] * r);
        float mean = cg::reduce(tile, b, cg::plus<double>()) / columns;
        for (int c = t; c < columns; c += 8) {
            float normed = x[at + c] * r;
            dx[at + c] = r * (dy[at + c] * weight[c] - normed * mean);
            partial[(size_t)part * columns + c] += dy[at + c] * normed;
        }
    }
}
