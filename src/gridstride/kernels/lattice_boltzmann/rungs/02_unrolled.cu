// 02 unrolled: directions are constants, so that what is 0 falls away and what is common is worked out once.
//
// Moves: instructions: no remainders, one division for a cell, differences of populations instead of products with 0, 1
//   and -1.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y.
//
// entry: lattice_boltzmann_unrolled
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

// Directions as constants of the compiler, so that unrolled loops have neither tables nor products by 0 and 1.
struct Directions {
    int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
    int cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    int opposite[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
    float weight[9] = {4.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9,
                       1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36};
};

// Populations of a density and a velocity.
__device__ __forceinline__ void equilibrium(float (&e)[9], float rho, float ux, float uy)
{
    constexpr Directions D;
    const float rest = 1.0f - 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int i = 0; i < 9; ++i) {
        const float along = D.cx[i] * ux + D.cy[i] * uy;
        e[i] = D.weight[i] * rho * (rest + along * (3.0f + 4.5f * along));
    }
}

// What came in, made into what leaves.
__device__ __forceinline__ void collide(float (&g)[9], int kind, float omega, float speed, float force)
{
    constexpr Directions D;
    float e[9];
    if (kind != 0) {
        equilibrium(g, 1.0f, kind == 3 ? speed : 0.0f, 0.0f);
        return;
    }
    const float rho = ((g[0] + g[1]) + (g[2] + g[3])) + ((g[4] + g[5]) + (g[6] + g[7])) + g[8];
    const float inverse = 1.0f / rho;
    const float jx = (g[1] - g[3]) + (g[5] - g[7]) + (g[8] - g[6]);
    const float jy = (g[2] - g[4]) + (g[5] - g[7]) + (g[6] - g[8]);
    equilibrium(e, rho, jx * inverse, jy * inverse);
#pragma unroll
    for (int i = 0; i < 9; ++i) g[i] += omega * (e[i] - g[i]) + 3.0f * D.weight[i] * D.cx[i] * force;
}

// What streams into one cell.
__device__ __forceinline__ void arrive(float (&g)[9], const float* f, const unsigned char* kinds, int row, int column,
                                       int H, int W, float speed)
{
    constexpr Directions D;
    const size_t cells = (size_t)H * W, cell = (size_t)row * W + column;
    const size_t rows[3] = {(size_t)(row > 0 ? row - 1 : H - 1) * W, (size_t)row * W,
                            (size_t)(row < H - 1 ? row + 1 : 0) * W};
    const int columns[3] = {column > 0 ? column - 1 : W - 1, column, column < W - 1 ? column + 1 : 0};
#pragma unroll
    for (int i = 0; i < 9; ++i) {
        const size_t source = rows[1 - D.cy[i]] + columns[1 - D.cx[i]];
        const int kind = kinds[source];
        const bool wall = kind == 1 || kind == 2;
        g[i] = wall ? f[D.opposite[i] * cells + cell] : f[i * cells + source];
        if (kind == 2) g[i] += 6.0f * D.weight[i] * D.cx[i] * speed;
    }
}

extern "C" __global__ void __launch_bounds__(256)
lattice_boltzmann_unrolled(const float* __restrict__ f, const unsigned char* __restrict__ kinds,
                           float* __restrict__ after, int H, int W, float omega, float speed, float force)
{
    const int column = blockIdx.x * 32 + threadIdx.x;
    const int row = blockIdx.y * 8 + threadIdx.y;
    if (row >= H || column >= W) return;

    float g[9];
    arrive(g, f, kinds, row, column, H, W, speed);
    const size_t cells = (size_t)H * W, cell = (size_t)row * W + column;
    collide(g, kinds[cell], omega, speed, force);
#pragma unroll
    for (int i = 0; i < 9; ++i) after[i * cells + cell] = g[i];
}
