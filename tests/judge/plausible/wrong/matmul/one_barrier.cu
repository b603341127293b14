// grid: ceil(N/32) ceil(M/32)
// block: 32 32
// fault: missing barrier
// kinds: race wrong_result unrepeatable
// One barrier per tile: a quick warp overwrites the tile that a slow one still reads. Right while K fits one tile.
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[32][32], b[32][32];
    const int x = threadIdx.x, y = threadIdx.y, c = blockIdx.x * 32 + x, r = blockIdx.y * 32 + y;
    float s = 0;
    for (int k = 0; k < K; k += 32) {
        a[y][x] = r < M && k + x < K ? A[(size_t)r * K + k + x] : 0;
        b[y][x] = c < N && k + y < K ? B[(size_t)(k + y) * N + c] : 0;
        __syncthreads();
        for (int i = 0; i < 32; ++i) s += a[y][i] * b[i][x];
    }
    if (r < M && c < N) C[(size_t)r * N + c] = s;
}
