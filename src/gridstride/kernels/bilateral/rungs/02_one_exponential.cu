// 02 one exponential: both exponents are added up before, in powers of two, and a tile of pixels is loaded once.
//
// Moves: instructions, to a half: 25 exponentials, each an `ex2` of what is scaled by log2(e) once for all. Requests,
//   from 27 a pixel to 36 * 20 / (32 * 16) = 1.4 loads and a store; the others go to shared memory.
// Mapping: a block of 32x8 threads -> a tile of 32x16 pixels; thread (x, y) -> column x, rows y and y + 8 of it.
//
// entry: bilateral_one_exponential
// block: 32 8
// grid: ceil(W/32) ceil(H/16)

constexpr int RADIUS = 2;
constexpr int WARPS = 8;
constexpr int TILE_W = 32, TILE_H = 16;
constexpr float LOG2_E = 1.44269504f;

extern "C" __global__ void __launch_bounds__(32 * WARPS)
bilateral_one_exponential(const float* __restrict__ image, float* __restrict__ smooth, int H, int W, float near,
                          float alike)
{
    __shared__ float tile[TILE_H + 2 * RADIUS][TILE_W + 2 * RADIUS];

    constexpr int WIDTH = TILE_W + 2 * RADIUS, HEIGHT = TILE_H + 2 * RADIUS;
    const int first_row = (int)blockIdx.y * TILE_H - RADIUS, first_column = (int)blockIdx.x * TILE_W - RADIUS;
    for (int k = threadIdx.y * 32 + threadIdx.x; k < WIDTH * HEIGHT; k += 32 * WARPS) {
        const int y = min(max(first_row + k / WIDTH, 0), H - 1), x = min(max(first_column + k % WIDTH, 0), W - 1);
        tile[k / WIDTH][k % WIDTH] = image[(size_t)y * W + x];
    }
    __syncthreads();

    const float by_distance = -near * LOG2_E, by_value = -alike * LOG2_E;
    const int column = blockIdx.x * TILE_W + threadIdx.x;
    for (int r = threadIdx.y; r < TILE_H; r += WARPS) {
        const int row = blockIdx.y * TILE_H + r;
        if (row >= H || column >= W) return;
        const float own = tile[r + RADIUS][threadIdx.x + RADIUS];
        float sum = 0.0f, weights = 0.0f;
#pragma unroll
        for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
#pragma unroll
            for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
                const float other = tile[r + RADIUS + dy][threadIdx.x + RADIUS + dx];
                const float apart = other - own;
                const float weight = exp2f(by_distance * (dx * dx + dy * dy) + by_value * apart * apart);
                sum += weight * other;
                weights += weight;
            }
        }
        smooth[(size_t)row * W + column] = sum / weights;
    }
}
