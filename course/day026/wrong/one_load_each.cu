// One load each. A tile for 512 threads looks as if it had 512 places, one for each of them. With its halo it has
// more, and the last columns and rows are never filled.
//
// block: 32 16
// grid: ceil(W/32) ceil(H/16) P
// shared: 4*((32+2*R)*(16+2*R)+(2*R+1)*(2*R+1))
// expect: uninitialised_read

constexpr int WIDE = 32, TALL = 16;  // pixels of a block

extern "C" __global__ void filter(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    extern __shared__ float memory[];
    const int taps = 2 * R + 1;       // on a side of the filter
    const int pitch = WIDE + 2 * R;   // floats in a row of the tile
    const int rows = TALL + 2 * R;    // rows of the tile
    float* tile = memory;
    float* coefficients = memory + rows * pitch;

    const float* plane = image + (size_t)blockIdx.z * H * W;
    const int t = threadIdx.y * WIDE + threadIdx.x;
    for (int i = t; i < taps * taps; i += WIDE * TALL) coefficients[i] = weights[i];

    const int top = blockIdx.y * TALL - R, left = blockIdx.x * WIDE - R;
    const int y = top + threadIdx.y, x = left + threadIdx.x;
    const bool inside = y >= 0 && y < H && x >= 0 && x < W;
    tile[threadIdx.y * pitch + threadIdx.x] = inside ? plane[(size_t)y * W + x] : 0.0f;
    __syncthreads();

    const int column = blockIdx.x * WIDE + threadIdx.x, row = blockIdx.y * TALL + threadIdx.y;
    if (row >= H || column >= W) return;
    float sum = 0.0f;
    for (int r = 0; r < taps; ++r) {
        for (int c = 0; c < taps; ++c) {
            sum += coefficients[r * taps + c] * tile[(threadIdx.y + r) * pitch + threadIdx.x + c];  // <- here
        }
    }
    filtered[((size_t)blockIdx.z * H + row) * W + column] = sum;
}
