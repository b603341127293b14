// Edges move: outside the field it is 0 degrees here, and the edge cools towards that instead of staying as it is.
//
// entry: heat_edges_move
// block: 32 16
// grid: ceil(W/24) ceil(H/8)
// expect: wrong_result border

extern "C" __global__ void heat_edges_move(const float* u, float* v, int H, int W, float r)
{
    __shared__ float cells[2][16][32];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = (int)blockIdx.y * 8 - 4 + y, column = (int)blockIdx.x * 24 - 4 + x;
    const bool in_field = row >= 0 && row < H && column >= 0 && column < W;
    cells[0][y][x] = in_field ? u[(size_t)row * W + column] : 0.0f;
    __syncthreads();
    for (int k = 1; k <= 4; ++k) {
        const float(*c)[32] = cells[(k - 1) & 1];
        if (x >= k && x < 32 - k && y >= k && y < 16 - k) {
            const float around = c[y - 1][x] + c[y + 1][x] + c[y][x - 1] + c[y][x + 1];
            cells[k & 1][y][x] = in_field ? c[y][x] + r * (around - 4.0f * c[y][x]) : 0.0f;
        }
        __syncthreads();
    }
    if (in_field && x >= 4 && x < 28 && y >= 4 && y < 12) v[(size_t)row * W + column] = cells[0][y][x];
}
