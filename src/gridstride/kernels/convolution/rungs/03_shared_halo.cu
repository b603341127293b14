// 03 shared halo: the block copies its pixels and a rim of R around them (the halo) to shared memory once.
//
// Moves: global loads per pixel, from (2 R + 1)^2 to (32 + 2 R) (16 + 2 R) / (32 * 16), 1.41 for R = 2. The window is
//   read from shared memory, and nobody asks any more whether a pixel lies in the plane.
// Mapping: 32x16 threads for 32x16 pixels of a plane; together they load the tile with its halo, 0 where there is none.
//
// entry: convolution_shared_halo
// block: 32 16
// grid: ceil(W/32) ceil(H/16) P
// shared: 4*((2*R+1)*(2*R+1)+(32+2*R)*(16+2*R))

constexpr int TILE_W = 32, TILE_H = 16;  // pixels per block

extern "C" __global__ void __launch_bounds__(TILE_W * TILE_H)
convolution_shared_halo(const float* __restrict__ image, const float* __restrict__ weights,
                        float* __restrict__ filtered, int P, int H, int W, int R)
{
    extern __shared__ float memory[];
    const int taps = 2 * R + 1;  // on a side of the filter
    float* filter = memory;
    float* tile = memory + taps * taps;
    const int pitch = TILE_W + 2 * R;  // floats in a row of the tile

    const size_t plane = (size_t)blockIdx.z * H * W;
    const int t = threadIdx.y * TILE_W + threadIdx.x;
    for (int i = t; i < taps * taps; i += TILE_W * TILE_H) filter[i] = weights[i];
    const int first_column = blockIdx.x * TILE_W - R, first_row = blockIdx.y * TILE_H - R;
    for (int r = threadIdx.y; r < TILE_H + 2 * R; r += TILE_H) {
        for (int c = threadIdx.x; c < pitch; c += TILE_W) {
            const int y = first_row + r, x = first_column + c;
            const bool inside = y >= 0 && y < H && x >= 0 && x < W;
            tile[r * pitch + c] = inside ? image[plane + (size_t)y * W + x] : 0.0f;
        }
    }
    __syncthreads();

    const int column = blockIdx.x * TILE_W + threadIdx.x;
    const int row = blockIdx.y * TILE_H + threadIdx.y;
    if (row >= H || column >= W) return;

    float sum = 0.0f;
    for (int r = 0; r < taps; ++r) {
        for (int c = 0; c < taps; ++c) {
            sum += filter[r * taps + c] * tile[(threadIdx.y + r) * pitch + threadIdx.x + c];
        }
    }
    filtered[plane + (size_t)row * W + column] = sum;
}
