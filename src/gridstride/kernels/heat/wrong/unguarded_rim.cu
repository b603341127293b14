// Unguarded rim: tiles at the edge of the field load their rim from beyond it.
//
// entry: heat_unguarded_rim
// block: 32 16
// grid: ceil(W/24) ceil(H/8)
// expect: out_of_bounds

extern "C" __global__ void heat_unguarded_rim(const float* u, float* v, int H, int W, float r)
{
    __shared__ float cells[2][16][32];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = (int)blockIdx.y * 8 - 4 + y, column = (int)blockIdx.x * 24 - 4 + x;
    cells[0][y][x] = u[(long long)row * W + column];  // <- here
    __syncthreads();
    for (int k = 1; k <= 4; ++k) {
        const float(*c)[32] = cells[(k - 1) & 1];
        if (x >= k && x < 32 - k && y >= k && y < 16 - k) {
            const bool moves = row > 0 && row < H - 1 && column > 0 && column < W - 1;
            const float around = c[y - 1][x] + c[y + 1][x] + c[y][x - 1] + c[y][x + 1];
            cells[k & 1][y][x] = moves ? c[y][x] + r * (around - 4.0f * c[y][x]) : c[y][x];
        }
        __syncthreads();
    }
    const bool own = row < H && column < W && x >= 4 && x < 28 && y >= 4 && y < 12;
    if (own) v[(size_t)row * W + column] = cells[0][y][x];
}
