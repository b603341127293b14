// 02 unrolled: directions are constants, so that what is 0 falls away and all populations stay in registers.
//
// Moves: instructions: no remainders, one division for a cell, differences of opposite populations instead of products
//   with 0, 1 and -1.
// Mapping: thread (x, y, z) -> cell x of 32, y of 4 and z of 2 of the block's.
//
// entry: lattice_boltzmann_3d_unrolled
// block: 32 4 2
// grid: ceil(W/32) ceil(H/4) ceil(D/2)

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

extern "C" __global__ void __launch_bounds__(256)
lattice_boltzmann_3d_unrolled(const float* __restrict__ f, const unsigned char* __restrict__ kinds,
                              float* __restrict__ after, int D, int H, int W, float omega, float speed, float force)
{
    const int x = blockIdx.x * 32 + threadIdx.x;
    const int y = blockIdx.y * 4 + threadIdx.y;
    const int z = blockIdx.z * 2 + threadIdx.z;
    if (x >= W || y >= H || z >= D) return;

    float g[19];
    arrive(g, f, kinds, x, y, z, D, H, W, speed);
    const size_t cells = (size_t)D * H * W, cell = ((size_t)z * H + y) * W + x;
    collide(g, kinds[cell], omega, force);
#pragma unroll
    for (int i = 0; i < 19; ++i) after[i * cells + cell] = g[i];
}
