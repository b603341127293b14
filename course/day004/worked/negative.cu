// One thread makes one pixel negative. The first index of a thread counts columns, the second rows.
//
// entry: negative
// block: bx by
// grid: ceil(W/bx) ceil(H/by)

extern "C" __global__ void negative(
    const float* picture, float* result, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;
    const float bright = picture[row * W + column];
    result[row * W + column] = 255.0f - bright;
}
