// Missing barrier: the tile is complete before the first step, but a step begins before the one before it has ended.
//
// entry: heat_missing_barrier
// block: 32 16
// grid: ceil(W/24) ceil(H/8)
// expect: race

extern "C" __global__ void heat_missing_barrier(const float* u, float* v, int H, int W, float r)
{
    __shared__ float cells[2][16][32];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = (int)blockIdx.y * 8 - 4 + y, column = (int)blockIdx.x * 24 - 4 + x;
    const bool in_field = row >= 0 && row < H && column >= 0 && column < W;
    const bool moves = row > 0 && row < H - 1 && column > 0 && column < W - 1;
    cells[0][y][x] = in_field ? u[(size_t)row * W + column] : 0.0f;
    __syncthreads();
    for (int k = 1; k <= 4; ++k) {
        const float(*c)[32] = cells[(k - 1) & 1];
        if (x < k || x >= 32 - k || y < k || y >= 16 - k) continue;
        const float beside = c[y][x - 1] + c[y][x + 1];           // <- here
        const float around = c[y - 1][x] + c[y + 1][x] + beside;  // <- here
        cells[k & 1][y][x] = moves ? c[y][x] + r * (around - 4.0f * c[y][x]) : c[y][x];  // <- here
    }
    if (in_field && x >= 4 && x < 28 && y >= 4 && y < 12) v[(size_t)row * W + column] = cells[0][y][x];
}
