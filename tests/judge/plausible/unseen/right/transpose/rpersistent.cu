// grid: min(ceil(M/32)*ceil(N/32),4*SMS)
// block: 32 8
// Tiles in turns, two buffers in turn, one barrier a turn
__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float s[2][32][33];
    int across = (N + 31) / 32, tiles = across * ((M + 31) / 32), x = threadIdx.x, p = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x, p ^= 1) {
        int r = t / across * 32, c = t % across * 32;
        for (int y = threadIdx.y; y < 32; y += 8) if (r + y < M && c + x < N) s[p][y][x] = in[(size_t)(r + y) * N + c + x];
        __syncthreads();
        for (int y = threadIdx.y; y < 32; y += 8) if (c + y < N && r + x < M) out[(size_t)(c + y) * M + r + x] = s[p][x][y];
    }
}
