// cuda::barrier between filling a tile and reading it, with arrive and wait apart.
// grid: ceil(N/32) ceil(M/32)
// block: 32 8
#include <cuda/barrier>
__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    const int tx = threadIdx.x, ty = threadIdx.y;
    if (tx == 0 && ty == 0) init(&bar, 256);
    __syncthreads();
    const int x = blockIdx.x * 32, y = blockIdx.y * 32;
    for (int r = ty; r < 32; r += 8) if (y + r < M && x + tx < N) tile[r][tx] = in[(size_t)(y + r) * N + x + tx];
    auto token = bar.arrive();
    const int column = y + tx;
    bar.wait(std::move(token));
    for (int r = ty; r < 32; r += 8) if (x + r < N && column < M) out[(size_t)(x + r) * M + column] = tile[tx][r];
}
