// 03 register column: a thread has four pixels, one above the other, and loads what is around them once for all four.
//
// Moves: shared wavefronts, from 26 a pixel to 8 * 5 / 4 = 10. Exponentials, from 25 a pixel to 22.75: the pixel itself
//   weighs 1, and of five pairs the thread has both pixels, which weigh the same for each other.
// Mapping: a block of 32x8 threads -> a tile of 32x32 pixels; thread (x, y) -> column x, rows 4 y ... 4 y + 3 of it.
//
// entry: bilateral_register_column
// block: 32 8
// grid: ceil(W/32) ceil(H/32)

constexpr int RADIUS = 2;
constexpr int WARPS = 8;
constexpr int OWN = 4;  // rows of a thread
constexpr int TILE_W = 32, TILE_H = OWN * WARPS;
constexpr float LOG2_E = 1.44269504f;

extern "C" __global__ void __launch_bounds__(32 * WARPS)
bilateral_register_column(const float* __restrict__ image, float* __restrict__ smooth, int H, int W, float near,
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
    const auto weight = [&](float apart, int square) { return exp2f(by_distance * square + by_value * apart * apart); };
    const int first = OWN * threadIdx.y;
    float own[OWN], sum[OWN], weights[OWN];
#pragma unroll
    for (int i = 0; i < OWN; ++i) {
        own[i] = sum[i] = tile[first + i + RADIUS][threadIdx.x + RADIUS];
        weights[i] = 1.0f;
    }
#pragma unroll
    for (int i = 0; i < OWN; ++i) {  // pairs within the thread's own
#pragma unroll
        for (int j = i + 1; j < OWN && j <= i + RADIUS; ++j) {
            const float shared = weight(own[j] - own[i], (j - i) * (j - i));
            sum[i] += shared * own[j];
            weights[i] += shared;
            sum[j] += shared * own[i];
            weights[j] += shared;
        }
    }
#pragma unroll
    for (int y = 0; y < OWN + 2 * RADIUS; ++y) {
#pragma unroll
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
            if (dx == 0 && y >= RADIUS && y < RADIUS + OWN) continue;  // its own
            const float other = tile[first + y][threadIdx.x + RADIUS + dx];
#pragma unroll
            for (int i = 0; i < OWN; ++i) {
                const int dy = y - RADIUS - i;
                if (dy < -RADIUS || dy > RADIUS) continue;
                const float w = weight(other - own[i], dx * dx + dy * dy);
                sum[i] += w * other;
                weights[i] += w;
            }
        }
    }

    const int column = blockIdx.x * TILE_W + threadIdx.x;
#pragma unroll
    for (int i = 0; i < OWN; ++i) {
        const int row = blockIdx.y * TILE_H + first + i;
        if (row < H && column < W) smooth[(size_t)row * W + column] = sum[i] / weights[i];
    }
}
