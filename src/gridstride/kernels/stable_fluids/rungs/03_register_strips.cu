// 03 register strips: a thread has six cells of a column; of its neighbours' it takes from shared memory what it needs.
//
// Moves: shared wavefronts, to a half: cells above and below are the thread's own, and so is b; left and right come
//   from shared memory, and what lies at either end of the strip. Global requests, as the velocities around a cell are
//   its neighbours' in the strip too, and as the rim of a larger tile is less of it: 64 * 48 / (55 * 39) = 1.43 cells
//   are carried for one that is written, not 40 * 40 / (32 * 32) = 1.56.
// Mapping: 64x8 threads for a tile of 64x48 cells, of which 55x39 are its own, behind 5 and before 4 of each way;
//   thread (x, y) -> column x of the tile, rows 6 y ... 6 y + 5.
//
// entry: stable_fluids_register_strips
// block: 64 8
// grid: ceil(W/55) ceil(H/39)

constexpr int STEPS = 4;
constexpr int STRIP = 6;           // cells of a thread
constexpr int WIDTH = 64, HEIGHT = 8 * STRIP;
constexpr int BEFORE = STEPS + 1;  // of the rim, left and above
constexpr int OWN_W = WIDTH - BEFORE - STEPS, OWN_H = HEIGHT - BEFORE - STEPS;

__device__ __forceinline__ int wrapped(int i, int n)
{
    if (i >= 0 && i < n) return i;  // most are: a division is a score of instructions
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

extern "C" __global__ void __launch_bounds__(512)
stable_fluids_register_strips(const float* __restrict__ velocity, const float* __restrict__ pressure,
                              float* __restrict__ velocity_after, float* __restrict__ pressure_after, float* work,
                              int H, int W, float dt)
{
    __shared__ float shared[2][HEIGHT + 2][WIDTH + 2];  // a row and a column more each way, which nothing right needs

    const size_t cells = (size_t)H * W;
    const float *old_u = velocity, *old_v = velocity + cells;
    const int first = threadIdx.y * STRIP, first_row = (int)blockIdx.y * OWN_H - BEFORE + first;
    const int column = (int)blockIdx.x * OWN_W - BEFORE + threadIdx.x, j = threadIdx.x + 1;
    const int x = wrapped(column, W), left = x == 0 ? W - 1 : x - 1, right = x == W - 1 ? 0 : x + 1;
    for (int e = threadIdx.y * WIDTH + threadIdx.x; e < 2 * (HEIGHT + 2) * (WIDTH + 2); e += WIDTH * 8) {
        const int i = e / (WIDTH + 2) % (HEIGHT + 2), at = e % (WIDTH + 2);
        if (i == 0 || i == HEIGHT + 1 || at == 0 || at == WIDTH + 1) (&shared[0][0][0])[e] = 0.0f;
    }

    float p[STRIP], u[STRIP], v[STRIP], b[STRIP];
    int y = wrapped(first_row, H);
    const size_t upper = (size_t)(y == 0 ? H - 1 : y - 1) * W;
    float u_above = old_u[upper + x] + old_u[upper + right];
    float own_v = old_v[(size_t)y * W + x], v_around = own_v + old_v[(size_t)y * W + left];
#pragma unroll
    for (int i = 0; i < STRIP; ++i) {
        const int below = y == H - 1 ? 0 : y + 1;
        const size_t row = (size_t)y * W, lower = (size_t)below * W;
        p[i] = pressure[row + x];
        const float own_u = old_u[row + x], u_around = own_u + old_u[row + right];
        const float v_next = old_v[lower + x], v_below = v_next + old_v[lower + left];
        u[i] = carried(old_u, x, y, dt * own_u, dt * (0.25f * (v_around + v_below)), H, W);
        v[i] = carried(old_v, x, y, dt * (0.25f * (u_above + u_around)), dt * own_v, H, W);
        shared[0][first + i + 1][j] = u[i];
        u_above = u_around;
        own_v = v_next;
        v_around = v_below;
        y = below;
    }
    shared[1][first + 1][j] = v[0];  // of a strip, its first row is all that another needs
    __syncthreads();
#pragma unroll
    for (int i = 0; i < STRIP; ++i) {
        const float lower = i == STRIP - 1 ? shared[1][first + STRIP + 1][j] : v[i + 1];
        b[i] = shared[0][first + i + 1][j + 1] - u[i] + lower - v[i];
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k <= STEPS; ++k) {
        float(*cell)[WIDTH + 2] = shared[k & 1];
#pragma unroll
        for (int i = 0; i < STRIP; ++i) cell[first + i + 1][j] = p[i];
        __syncthreads();
        if (k == STEPS) break;  // what is right is in its place
        float upper = cell[first][j];
        const float end = cell[first + STRIP + 1][j];
#pragma unroll
        for (int i = 0; i < STRIP; ++i) {
            const float beside = cell[first + i + 1][j - 1] + cell[first + i + 1][j + 1];
            const float around = beside + upper + (i == STRIP - 1 ? end : p[i + 1]);
            upper = p[i];
            p[i] += 0.2f * (around - 4.0f * p[i] - b[i]);
        }
    }

    const float(*after)[WIDTH + 2] = shared[STEPS & 1];
    if ((int)threadIdx.x < BEFORE || (int)threadIdx.x >= BEFORE + OWN_W || column >= W) return;
    float p_above = after[first][j];
#pragma unroll
    for (int i = 0; i < STRIP; ++i) {
        const int row = first_row + i;
        if (first + i >= BEFORE && first + i < BEFORE + OWN_H && row < H) {
            const size_t at = (size_t)row * W + column;
            pressure_after[at] = p[i];
            velocity_after[at] = u[i] - (p[i] - after[first + i + 1][j - 1]);
            velocity_after[cells + at] = v[i] - (p[i] - p_above);
        }
        p_above = p[i];
    }
}
