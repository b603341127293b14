// grid: ceil(N/32) ceil(M/32)
// block: 32 8
#include <cuda/barrier>
#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    const int x = threadIdx.x, y = threadIdx.y;
    if (x == 0 && y == 0) init(&bar, 256);
    __syncthreads();
    for (int r = y; r < 32; r += 8) {
        const int row = blockIdx.y * 32 + r, column = blockIdx.x * 32 + x;
        if (row < M && column < N) cuda::memcpy_async(&tile[r][x], &in[(size_t)row * N + column], sizeof(float), bar);
    }
    auto token = bar.arrive();
    bar.wait(std::move(token));
    for (int r = y; r < 32; r += 8) {
        const int row = blockIdx.x * 32 + r, column = blockIdx.y * 32 + x;
        if (row < N && column < M) out[(size_t)row * M + column] = tile[x][r];
    }
}
