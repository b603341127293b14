// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// Rows of a tile by cg::memcpy_async of the whole block, one after the other, then cg::wait.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[16][17];
    const auto block = cg::this_thread_block();
    const int r0 = blockIdx.y * 16, c0 = blockIdx.x * 16;
    for (int y = 0; y < 16 && r0 + y < M; ++y)
        cg::memcpy_async(block, tile[y], in + (size_t)(r0 + y) * N + c0, sizeof(float) * min(16, N - c0));
    cg::wait(block);
    const int r = c0 + threadIdx.y, c = r0 + threadIdx.x;
    if (r < N && c < M) out[(size_t)r * M + c] = tile[threadIdx.x][threadIdx.y];
}
