// The same with x and y changed round, in the kernel as in its launch: the first index counts rows.
//
// entry: swapped
// block: bx by
// grid: ceil(H/bx) ceil(W/by)

extern "C" __global__ void swapped(const float* picture, float* result, int H, int W)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;
    const float bright = picture[row * W + column];
    result[row * W + column] = 255.0f - bright;
}
