// 03 four cells: a thread has four cells of a row; those beside them come by shuffle, walls are seen to where they are.
//
// Moves: global requests, to a fifth: populations by 16 bytes, kinds by 4 of each of three rows, not by 9 for a cell.
//   Sectors: a population that moves along the row came from two lines for a warp's cells, now from one.
// Mapping: lane l of a warp -> columns 4 l ... 4 l + 3 of its 128, in one row. The 4 warps of a block are 4 rows.
//   Where rows are not a multiple of 16 bytes, cell by cell as in 02.
//
// entry: lattice_boltzmann_four_cells
// block: 32 4
// grid: ceil(W/128) ceil(H/4)

constexpr unsigned int ALL = 0xffffffff;

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

// What a lane needs of a row: its own four, and the one before or behind them, from the lanes beside it or from memory
// where there are none. `column`: of the first of the four; lanes beyond the row take part with nothing.
template <typename T>
struct Six {
    T left, own[4], right;
};

__device__ __forceinline__ Six<float> load(const float* row, int column, int W)
{
    float4 c = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (column < W) c = *reinterpret_cast<const float4*>(row + column);
    Six<float> s = {__shfl_up_sync(ALL, c.w, 1), {c.x, c.y, c.z, c.w}, __shfl_down_sync(ALL, c.x, 1)};
    if (column < W && threadIdx.x == 0) s.left = row[column > 0 ? column - 1 : W - 1];
    if (column < W && (threadIdx.x == 31 || column + 4 >= W)) s.right = row[column + 4 < W ? column + 4 : 0];
    return s;
}

// Kinds likewise: six bytes from the left to the right.
__device__ __forceinline__ unsigned long long load(const unsigned char* row, int column, int W)
{
    const unsigned int own = column < W ? *reinterpret_cast<const unsigned int*>(row + column) : 0u;
    unsigned int left = __shfl_up_sync(ALL, own, 1) >> 24, right = __shfl_down_sync(ALL, own, 1) & 255;
    if (column < W && threadIdx.x == 0) left = row[column > 0 ? column - 1 : W - 1];
    if (column < W && (threadIdx.x == 31 || column + 4 >= W)) right = row[column + 4 < W ? column + 4 : 0];
    return left | (unsigned long long)own << 8 | (unsigned long long)right << 40;
}

extern "C" __global__ void __launch_bounds__(128)
lattice_boltzmann_four_cells(const float* __restrict__ f, const unsigned char* __restrict__ kinds,
                             float* __restrict__ after, int H, int W, float omega, float speed, float force)
{
    constexpr Directions D;
    const int column = blockIdx.x * 128 + 4 * threadIdx.x;
    const int row = blockIdx.y * 4 + threadIdx.y;
    if (row >= H) return;
    const size_t cells = (size_t)H * W, cell = (size_t)row * W + column;

    if (W % 4 != 0 || (((size_t)f | (size_t)after) & 15) != 0 || ((size_t)kinds & 3) != 0) {
        for (int k = 0; k < 4 && column + k < W; ++k) {
            float g[9];
            arrive(g, f, kinds, row, column + k, H, W, speed);
            collide(g, kinds[cell + k], omega, speed, force);
#pragma unroll
            for (int i = 0; i < 9; ++i) after[i * cells + cell + k] = g[i];
        }
        return;
    }

    const size_t rows[3] = {(size_t)(row > 0 ? row - 1 : H - 1) * W, (size_t)row * W,
                            (size_t)(row < H - 1 ? row + 1 : 0) * W};
    unsigned long long around[3];
#pragma unroll
    for (int r = 0; r < 3; ++r) around[r] = load(kinds + rows[r], column, W);
    float g[4][9];
#pragma unroll
    for (int i = 0; i < 9; ++i) {
        const Six<float> s = load(f + i * cells + rows[1 - D.cy[i]], column, W);
        const float six[6] = {s.left, s.own[0], s.own[1], s.own[2], s.own[3], s.right};
#pragma unroll
        for (int k = 0; k < 4; ++k) g[k][i] = six[1 + k - D.cx[i]];
    }
    if (column >= W) return;

    if ((around[0] | around[1] | around[2]) != 0) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            if ((around[1] >> 8 * (1 + k) & 255) != 0) continue;  // no fluid: what comes in is forgotten
#pragma unroll
            for (int i = 0; i < 9; ++i) {
                const int kind = around[1 - D.cy[i]] >> 8 * (1 + k - D.cx[i]) & 255;
                if (kind == 1 || kind == 2) g[k][i] = f[D.opposite[i] * cells + cell + k];
                if (kind == 2) g[k][i] += 6.0f * D.weight[i] * D.cx[i] * speed;
            }
        }
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) collide(g[k], around[1] >> 8 * (1 + k) & 255, omega, speed, force);
#pragma unroll
    for (int i = 0; i < 9; ++i) {
        *reinterpret_cast<float4*>(after + i * cells + cell) = make_float4(g[0][i], g[1][i], g[2][i], g[3][i]);
    }
}
