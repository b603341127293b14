// 04 register column: a thread computes 8 pixels of a column and keeps what their windows share in registers.
//
// Moves: shared reads per multiply-add, from 2 to (2 R + 9) / (8 (2 R + 1)) + 1/8, 0.4 for R = 2. For a column of the
//   filter a thread reads 8 + 2 R pixels below one another, each for as many results as it lies in the windows of; a
//   weight is read once for 8 results.
// Mapping: 32x4 threads for 32x32 pixels of a plane; thread (x, y) -> column x, rows 8y ... 8y + 7 of the tile. Filters
//   of 3, 5 and 7 have loops of known length, which unroll; all others take the same code with loops that stay.
//
// entry: convolution_register_column
// block: 32 4
// grid: ceil(W/32) ceil(H/32) P
// shared: 4*((2*R+1)*(2*R+1)+(32+2*R)*(32+2*R))

constexpr int WIDTH = 32;             // columns of a block
constexpr int EACH = 8;               // pixels of a thread, one below the other
constexpr int SHARES = 4;             // threads down the tile
constexpr int TALL = EACH * SHARES;   // rows of a block

// Sums of the EACH windows whose first pixel is at `window`. KNOWN: taps on a side of the filter, or 0.
template <int KNOWN>
__device__ __forceinline__ void filter_column(float (&sum)[EACH], const float* window, const float* filter, int pitch,
                                              int length)
{
    const int taps = KNOWN ? KNOWN : length;
    for (int c = 0; c < taps; ++c) {
        float v[EACH];  // the pixels that row r of the filter meets
#pragma unroll
        for (int i = 0; i < EACH; ++i) v[i] = window[i * pitch + c];
#pragma unroll
        for (int r = 0; r < taps; ++r) {
            const float weight = filter[r * taps + c];
#pragma unroll
            for (int i = 0; i < EACH; ++i) sum[i] += weight * v[i];
            if (r + 1 == taps) break;
#pragma unroll
            for (int i = 0; i + 1 < EACH; ++i) v[i] = v[i + 1];
            v[EACH - 1] = window[(r + EACH) * pitch + c];
        }
    }
}

extern "C" __global__ void __launch_bounds__(WIDTH * SHARES)
convolution_register_column(const float* __restrict__ image, const float* __restrict__ weights,
                            float* __restrict__ filtered, int P, int H, int W, int R)
{
    extern __shared__ float memory[];
    const int taps = 2 * R + 1;
    float* filter = memory;
    float* tile = memory + taps * taps;
    const int pitch = WIDTH + 2 * R;  // floats in a row of the tile

    const size_t plane = (size_t)blockIdx.z * H * W;
    const int t = threadIdx.y * WIDTH + threadIdx.x;
    for (int i = t; i < taps * taps; i += WIDTH * SHARES) filter[i] = weights[i];
    const int first_column = blockIdx.x * WIDTH - R, first_row = blockIdx.y * TALL - R;
    for (int r = threadIdx.y; r < TALL + 2 * R; r += SHARES) {
        for (int c = threadIdx.x; c < pitch; c += WIDTH) {
            const int y = first_row + r, x = first_column + c;
            const bool inside = y >= 0 && y < H && x >= 0 && x < W;
            tile[r * pitch + c] = inside ? image[plane + (size_t)y * W + x] : 0.0f;
        }
    }
    __syncthreads();

    float sum[EACH] = {};
    const float* window = tile + threadIdx.y * EACH * pitch + threadIdx.x;
    if (R == 1) filter_column<3>(sum, window, filter, pitch, taps);
    else if (R == 2) filter_column<5>(sum, window, filter, pitch, taps);
    else if (R == 3) filter_column<7>(sum, window, filter, pitch, taps);
    else filter_column<0>(sum, window, filter, pitch, taps);

    const int column = blockIdx.x * WIDTH + threadIdx.x;
    const int top = blockIdx.y * TALL + threadIdx.y * EACH;
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        if (top + i < H && column < W) filtered[plane + (size_t)(top + i) * W + column] = sum[i];
    }
}
