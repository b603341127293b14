// 03 four cells: a thread has four cells of a row; those beside them come by shuffle, walls are seen to where they are.
//
// Moves: global requests, to a quarter: populations by 16 bytes, kinds by 4 of each of nine rows, not by 20 for a cell.
//   Sectors: a population that moves along the row came from two lines for a warp's cells, now from one.
// Mapping: lane l of a warp -> cells 4 l ... 4 l + 3 of its 128, in one row. The 2 warps of a block are 2 rows.
//   Where rows are not a multiple of 16 bytes, cell by cell as in 02.
//
// entry: lattice_boltzmann_3d_four_cells
// block: 32 2
// grid: ceil(W/128) ceil(H/2) D

constexpr unsigned int ALL = 0xffffffff;

// Directions as constants of the compiler, so that unrolled loops have neither tables nor products by 0 and 1.
struct Directions {
    int cx[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
    int cy[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
    int cz[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
};

__device__ constexpr int opposite(int i) { return i == 0 ? 0 : i % 2 == 1 ? i + 1 : i - 1; }
__device__ constexpr float weight(int i) { return i == 0 ? 1.0f / 3 : i < 7 ? 1.0f / 18 : 1.0f / 36; }

// What came in, made into what leaves.
__device__ __forceinline__ void collide(float (&g)[19], int kind, float omega, float force)
{
    constexpr Directions C;
    float rho = g[0], jx = 0.0f, jy = 0.0f, jz = 0.0f;
#pragma unroll
    for (int i = 1; i < 19; i += 2) {  // a pair of opposites at a time
        const float less = g[i] - g[i + 1];
        rho += g[i] + g[i + 1];
        jx += C.cx[i] * less;
        jy += C.cy[i] * less;
        jz += C.cz[i] * less;
    }
    const float inverse = 1.0f / rho;
    const float ux = jx * inverse, uy = jy * inverse, uz = jz * inverse;
    const float rest = 1.0f - 1.5f * (ux * ux + uy * uy + uz * uz);
#pragma unroll
    for (int i = 0; i < 19; ++i) {
        const float along = C.cx[i] * ux + C.cy[i] * uy + C.cz[i] * uz;
        const float equilibrium = weight(i) * rho * (rest + along * (3.0f + 4.5f * along));
        const float collided = g[i] + omega * (equilibrium - g[i]) + 3.0f * weight(i) * C.cx[i] * force;
        g[i] = kind == 0 ? collided : weight(i);
    }
}

// The places before, at and behind `at` in a ring of `most`.
struct Ring {
    int place[3];
};

__device__ __forceinline__ Ring ring(int at, int most)
{
    return {{at > 0 ? at - 1 : most - 1, at, at < most - 1 ? at + 1 : 0}};
}

// What streams into one cell.
__device__ __forceinline__ void arrive(float (&g)[19], const float* f, const unsigned char* kinds, int x, int y, int z,
                                       int D, int H, int W, float speed)
{
    constexpr Directions C;
    const size_t cells = (size_t)D * H * W, cell = ((size_t)z * H + y) * W + x;
    const Ring xs = ring(x, W), ys = ring(y, H), zs = ring(z, D);
#pragma unroll
    for (int i = 0; i < 19; ++i) {
        const size_t row = (size_t)zs.place[1 - C.cz[i]] * H + ys.place[1 - C.cy[i]];
        const size_t source = row * W + xs.place[1 - C.cx[i]];
        const int kind = kinds[source];
        g[i] = kind == 0 ? f[i * cells + source] : f[opposite(i) * cells + cell];
        if (kind == 2) g[i] += 6.0f * weight(i) * C.cx[i] * speed;
    }
}

// What a lane needs of a row: its own four, and the one before or behind them, from the lanes beside it or from memory
// where there are none. `x`: of the first of the four; lanes beyond the row take part with nothing.
struct Six {
    float value[6];
};

__device__ __forceinline__ Six load(const float* row, int x, int W)
{
    float4 c = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (x < W) c = *reinterpret_cast<const float4*>(row + x);
    float left = __shfl_up_sync(ALL, c.w, 1), right = __shfl_down_sync(ALL, c.x, 1);
    if (x < W && threadIdx.x == 0) left = row[x > 0 ? x - 1 : W - 1];
    if (x < W && (threadIdx.x == 31 || x + 4 >= W)) right = row[x + 4 < W ? x + 4 : 0];
    return {{left, c.x, c.y, c.z, c.w, right}};
}

// Kinds likewise: six bytes from the left to the right.
__device__ __forceinline__ unsigned long long load(const unsigned char* row, int x, int W)
{
    const unsigned int own = x < W ? *reinterpret_cast<const unsigned int*>(row + x) : 0u;
    unsigned int left = __shfl_up_sync(ALL, own, 1) >> 24, right = __shfl_down_sync(ALL, own, 1) & 255;
    if (x < W && threadIdx.x == 0) left = row[x > 0 ? x - 1 : W - 1];
    if (x < W && (threadIdx.x == 31 || x + 4 >= W)) right = row[x + 4 < W ? x + 4 : 0];
    return left | (unsigned long long)own << 8 | (unsigned long long)right << 40;
}

extern "C" __global__ void __launch_bounds__(64)
lattice_boltzmann_3d_four_cells(const float* __restrict__ f, const unsigned char* __restrict__ kinds,
                                float* __restrict__ after, int D, int H, int W, float omega, float speed, float force)
{
    constexpr Directions C;
    const int x = blockIdx.x * 128 + 4 * threadIdx.x;
    const int y = blockIdx.y * 2 + threadIdx.y, z = blockIdx.z;
    if (y >= H) return;
    const size_t cells = (size_t)D * H * W, cell = ((size_t)z * H + y) * W + x;

    if (W % 4 != 0 || (((size_t)f | (size_t)after) & 15) != 0 || ((size_t)kinds & 3) != 0) {
#pragma unroll 1
        for (int k = 0; k < 4 && x + k < W; ++k) {
            float g[19];
            arrive(g, f, kinds, x + k, y, z, D, H, W, speed);
            collide(g, kinds[cell + k], omega, force);
#pragma unroll
            for (int i = 0; i < 19; ++i) after[i * cells + cell + k] = g[i];
        }
        return;
    }

    const Ring ys = ring(y, H), zs = ring(z, D);
    size_t rows[3][3];
    unsigned long long around[3][3], any = 0;
#pragma unroll
    for (int r = 0; r < 9; ++r) {
        rows[r / 3][r % 3] = ((size_t)zs.place[r / 3] * H + ys.place[r % 3]) * W;
        any |= around[r / 3][r % 3] = load(kinds + rows[r / 3][r % 3], x, W);
    }
    float g[4][19];
#pragma unroll
    for (int i = 0; i < 19; ++i) {
        const float* row = f + i * cells + rows[1 - C.cz[i]][1 - C.cy[i]];
        if (C.cx[i] != 0) {
            const Six six = load(row, x, W);
#pragma unroll
            for (int k = 0; k < 4; ++k) g[k][i] = six.value[1 + k - C.cx[i]];
        } else if (x < W) {
            const float4 own = *reinterpret_cast<const float4*>(row + x);
            g[0][i] = own.x, g[1][i] = own.y, g[2][i] = own.z, g[3][i] = own.w;
        }
    }
    if (x >= W) return;

    if (any != 0) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            if ((around[1][1] >> 8 * (1 + k) & 255) != 0) continue;  // no fluid: what comes in is forgotten
#pragma unroll
            for (int i = 0; i < 19; ++i) {
                const int kind = around[1 - C.cz[i]][1 - C.cy[i]] >> 8 * (1 + k - C.cx[i]) & 255;
                if (kind != 0) g[k][i] = f[opposite(i) * cells + cell + k];
                if (kind == 2) g[k][i] += 6.0f * weight(i) * C.cx[i] * speed;
            }
        }
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) collide(g[k], around[1][1] >> 8 * (1 + k) & 255, omega, force);
#pragma unroll
    for (int i = 0; i < 19; ++i) {
        *reinterpret_cast<float4*>(after + i * cells + cell) = make_float4(g[0][i], g[1][i], g[2][i], g[3][i]);
    }
}
