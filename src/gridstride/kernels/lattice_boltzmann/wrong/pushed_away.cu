// Pushed away: each cell takes from the cell that it should give to, so everything moves backwards.
//
// entry: lattice_boltzmann_pushed_away
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: wrong_result

__constant__ int CX[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ int CY[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ int OPPOSITE[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
__constant__ float WEIGHT[9] = {4.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9,
                                1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36};

extern "C" __global__ void
lattice_boltzmann_pushed_away(const float* f, const unsigned char* kinds, float* after, int H, int W, float omega,
                              float speed, float force)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;
    const size_t cells = (size_t)H * W, cell = (size_t)row * W + column;
    const int kind = kinds[cell];

    float g[9];
    float rho = 0.0f, jx = 0.0f, jy = 0.0f;
    for (int i = 0; i < 9; ++i) {
        const size_t source = (size_t)((row + CY[i] + H) % H) * W + (column + CX[i] + W) % W;
        if (kinds[source] == 1 || kinds[source] == 2) {
            g[i] = f[OPPOSITE[i] * cells + cell];
            if (kinds[source] == 2) g[i] += 6.0f * WEIGHT[i] * CX[i] * speed;
        } else {
            g[i] = f[i * cells + source];
        }
        rho += g[i];
        jx += CX[i] * g[i];
        jy += CY[i] * g[i];
    }
    for (int i = 0; i < 9; ++i) {
        const float density = kind == 0 ? rho : 1.0f;
        const float ux = kind == 0 ? jx / rho : kind == 3 ? speed : 0.0f, uy = kind == 0 ? jy / rho : 0.0f;
        const float along = CX[i] * ux + CY[i] * uy;
        const float equilibrium =
            WEIGHT[i] * density * (1.0f + 3.0f * along + 4.5f * along * along - 1.5f * (ux * ux + uy * uy));
        const float collided = g[i] + omega * (equilibrium - g[i]) + 3.0f * WEIGHT[i] * CX[i] * force;
        after[i * cells + cell] = kind == 0 ? collided : equilibrium;
    }
}
