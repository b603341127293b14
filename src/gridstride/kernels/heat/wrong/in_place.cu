// In place: each step writes the cells that its neighbours still read. Some see this step's value, some the last one's.
//
// entry: heat_in_place
// block: 32 16
// grid: ceil(W/24) ceil(H/8)
// expect: race

extern "C" __global__ void heat_in_place(const float* u, float* v, int H, int W, float r)
{
    __shared__ float cells[16][32];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = (int)blockIdx.y * 8 - 4 + y, column = (int)blockIdx.x * 24 - 4 + x;
    const bool in_field = row >= 0 && row < H && column >= 0 && column < W;
    const bool moves = row > 0 && row < H - 1 && column > 0 && column < W - 1;
    cells[y][x] = in_field ? u[(size_t)row * W + column] : 0.0f;
    __syncthreads();
    for (int k = 1; k <= 4; ++k) {
        if (moves && x >= k && x < 32 - k && y >= k && y < 16 - k) {
            const float beside = cells[y][x - 1] + cells[y][x + 1];           // <- here
            const float around = cells[y - 1][x] + cells[y + 1][x] + beside;  // <- here
            cells[y][x] = cells[y][x] + r * (around - 4.0f * cells[y][x]);   // <- here
        }
        __syncthreads();
    }
    if (in_field && x >= 4 && x < 28 && y >= 4 && y < 12) v[(size_t)row * W + column] = cells[y][x];
}
