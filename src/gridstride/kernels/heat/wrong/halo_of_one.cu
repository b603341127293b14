// Halo of one: enough for one step, but the tile takes four; what comes in from outside after the first is missed.
//
// entry: heat_halo_of_one
// block: 32 16
// grid: ceil(W/32) ceil(H/16)
// expect: wrong_result

extern "C" __global__ void heat_halo_of_one(const float* u, float* v, int H, int W, float r)
{
    __shared__ float cells[2][18][34];
    const int x = threadIdx.x + 1, y = threadIdx.y + 1;
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    for (int e = threadIdx.y * 32 + threadIdx.x; e < 18 * 34; e += 512) {
        const int i = (int)blockIdx.y * 16 - 1 + e / 34, j = (int)blockIdx.x * 32 - 1 + e % 34;
        const bool in_field = i >= 0 && i < H && j >= 0 && j < W;
        cells[0][e / 34][e % 34] = cells[1][e / 34][e % 34] = in_field ? u[(size_t)i * W + j] : 0.0f;
    }
    __syncthreads();
    float cell = 0.0f;
    for (int k = 0; k < 4; ++k) {
        const float(*c)[34] = cells[k & 1];
        cell = c[y][x];
        if (row > 0 && row < H - 1 && column > 0 && column < W - 1) {
            cell += r * (c[y - 1][x] + c[y + 1][x] + c[y][x - 1] + c[y][x + 1] - 4.0f * cell);
        }
        cells[(k + 1) & 1][y][x] = cell;
        __syncthreads();
    }
    if (row < H && column < W) v[(size_t)row * W + column] = cell;
}
