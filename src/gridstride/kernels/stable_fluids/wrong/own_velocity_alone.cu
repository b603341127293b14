// Own velocity alone: u is carried by the v of its cell, which lies at another face, and not by the mean of four.
//
// entry: stable_fluids_own_velocity_alone
// block: 32 8
// grid: ceil(W/32) ceil(H/32)
// expect: wrong_result

constexpr int STEPS = 4;
constexpr int OWN = 32;
constexpr int BEFORE = STEPS + 1;
constexpr int SIDE = OWN + BEFORE + STEPS;

__device__ __forceinline__ int wrapped(int i, int n)
{
    i %= n;
    return i < 0 ? i + n : i;
}

// The field at a point, `across` and `down` before (x, y).
__device__ __forceinline__ float
carried(const float* __restrict__ field, int x, int y, float across, float down, int H, int W)
{
    const float left = floorf(-across), top = floorf(-down);
    const float share_x = -across - left, share_y = -down - top;
    const int column = wrapped(x + (int)left, W), row = wrapped(y + (int)top, H);
    const int right = column + 1 == W ? 0 : column + 1, below = row + 1 == H ? 0 : row + 1;
    const float* upper = field + (size_t)row * W;
    const float* lower = field + (size_t)below * W;
    const float above = upper[column] + share_x * (upper[right] - upper[column]);
    const float under = lower[column] + share_x * (lower[right] - lower[column]);
    return above + share_y * (under - above);
}

extern "C" __global__ void __launch_bounds__(256)
stable_fluids_own_velocity_alone(const float* __restrict__ velocity, const float* __restrict__ pressure,
                                 float* __restrict__ velocity_after, float* __restrict__ pressure_after, float* work,
                                 int H, int W, float dt)
{
    __shared__ float p[2][SIDE][SIDE], u[SIDE][SIDE], v[SIDE][SIDE], b[SIDE][SIDE];

    const size_t cells = (size_t)H * W;
    const int first_row = blockIdx.y * OWN - BEFORE, first_column = blockIdx.x * OWN - BEFORE;
    const float *old_u = velocity, *old_v = velocity + cells;
    for (int i = threadIdx.y; i < SIDE; i += blockDim.y) {
        for (int j = threadIdx.x; j < SIDE; j += blockDim.x) {
            const int x = wrapped(first_column + j, W), y = wrapped(first_row + i, H);
            const size_t row = (size_t)y * W;
            p[0][i][j] = pressure[row + x];
            if (i == 0 || j == 0) continue;
            const int right = x == W - 1 ? 0 : x + 1;
            const size_t upper = (size_t)(y == 0 ? H - 1 : y - 1) * W;
            const float own_u = old_u[row + x], own_v = old_v[row + x];
            const float u_mean = 0.25f * (own_u + old_u[upper + x] + old_u[row + right] + old_u[upper + right]);
            u[i][j] = carried(old_u, x, y, dt * own_u, dt * own_v, H, W);
            v[i][j] = carried(old_v, x, y, dt * u_mean, dt * own_v, H, W);
        }
    }
    __syncthreads();

    for (int k = 1; k <= STEPS; ++k) {
        const float(*from)[SIDE] = p[(k - 1) & 1];
        float(*to)[SIDE] = p[k & 1];
        for (int i = k + threadIdx.y; i < SIDE - k; i += blockDim.y) {
            for (int j = k + threadIdx.x; j < SIDE - k; j += blockDim.x) {
                if (k == 1) b[i][j] = u[i][j + 1] - u[i][j] + v[i + 1][j] - v[i][j];
                const float around = from[i][j - 1] + from[i][j + 1] + from[i - 1][j] + from[i + 1][j];
                to[i][j] = from[i][j] + 0.2f * (around - 4.0f * from[i][j] - b[i][j]);
            }
        }
        __syncthreads();
    }

    const float(*after)[SIDE] = p[STEPS & 1];
    const int j = threadIdx.x + BEFORE, x = first_column + j;
    if (x >= W) return;
    for (int i = threadIdx.y + BEFORE; i < BEFORE + OWN && first_row + i < H; i += blockDim.y) {
        const size_t cell = (size_t)(first_row + i) * W + x;
        pressure_after[cell] = after[i][j];
        velocity_after[cell] = u[i][j] - (after[i][j] - after[i][j - 1]);
        velocity_after[cells + cell] = v[i][j] - (after[i][j] - after[i - 1][j]);
    }
}
