// Every plane with a filter of 2R + 1 by 2R + 1: a block loads its pixels, the halo around them and the filter once.
//
// block: 32 16
// grid: ceil(W/32) ceil(H/16) P
// shared: 4*((32+2*R)*(16+2*R)+(2*R+1)*(2*R+1))

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

    // 1. Fill the tile, `rows` rows of `pitch` floats: row 0 and column 0 of it lie R above and R left of the block's own
    //    first pixel. What lies outside of the plane is 0.

    // 2. Nobody may read the tile before all of it is there.

    const int column = blockIdx.x * WIDE + threadIdx.x, row = blockIdx.y * TALL + threadIdx.y;
    if (row >= H || column >= W) return;
    float sum = 0.0f;
    // 3. Add up weight times pixel over the window. Where in the tile does the window of this thread begin?
}
