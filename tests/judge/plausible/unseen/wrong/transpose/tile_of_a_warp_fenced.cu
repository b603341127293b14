// grid: ceil(N/32), ceil(M/32)
// block: 32, 1
// fault: fence taken as a barrier of the warp
// kinds: race
// One warp for a tile: __threadfence_block() between its rows and its columns.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float t[32][33]; int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32;
    for (int k = 0; k < 32; k++) if (x < N && y + k < M) t[k][threadIdx.x] = in[(size_t)(y + k) * N + x];
    __threadfence_block();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32;
    for (int k = 0; k < 32; k++) if (x < M && y + k < N) out[(size_t)(y + k) * M + x] = t[threadIdx.x][k];
}
