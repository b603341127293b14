// Pushed away: populations are taken from where they would move to, not from where they come.
//
// entry: lattice_boltzmann_3d_pushed_away
// block: 32 4 2
// grid: ceil(W/32) ceil(H/4) ceil(D/2)
// expect: wrong_result

__constant__ int CX[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
__constant__ int CY[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
__constant__ int CZ[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};

extern "C" __global__ void
lattice_boltzmann_3d_pushed_away(const float* f, const unsigned char* kinds, float* after, int D, int H, int W,
                            float omega, float speed, float force)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= W || y >= H || z >= D) return;
    const size_t cells = (size_t)D * H * W, cell = ((size_t)z * H + y) * W + x;

    float g[19];
    float rho = 0.0f, jx = 0.0f, jy = 0.0f, jz = 0.0f;
    for (int i = 0; i < 19; ++i) {
        const int fx = (x + CX[i] + W) % W, fy = (y + CY[i] + H) % H, fz = (z + CZ[i] + D) % D;
        const size_t source = ((size_t)fz * H + fy) * W + fx;
        const int opposite = i == 0 ? 0 : i % 2 == 1 ? i + 1 : i - 1;
        const float weight = i == 0 ? 1.0f / 3 : i < 7 ? 1.0f / 18 : 1.0f / 36;
        if (kinds[source] != 0) {
            g[i] = f[opposite * cells + cell];
            if (kinds[source] == 2) g[i] += 6.0f * weight * CX[i] * speed;
        } else {
            g[i] = f[i * cells + source];
        }
        rho += g[i];
        jx += CX[i] * g[i];
        jy += CY[i] * g[i];
        jz += CZ[i] * g[i];
    }
    for (int i = 0; i < 19; ++i) {
        const float weight = i == 0 ? 1.0f / 3 : i < 7 ? 1.0f / 18 : 1.0f / 36;
        const float ux = jx / rho, uy = jy / rho, uz = jz / rho;
        const float along = CX[i] * ux + CY[i] * uy + CZ[i] * uz, square = ux * ux + uy * uy + uz * uz;
        const float equilibrium = weight * rho * (1.0f + 3.0f * along + 4.5f * along * along - 1.5f * square);
        const float collided = g[i] + omega * (equilibrium - g[i]) + 3.0f * weight * CX[i] * force;
        after[i * cells + cell] = kinds[cell] == 0 ? collided : weight;
    }
}
