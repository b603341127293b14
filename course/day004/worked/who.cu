// Every pixel is given the number of the warp that it was given to, counted over the grid, and of the lane.
//
// entry: who
// block: 16 4
// grid: ceil(W/16) ceil(H/4)

extern "C" __global__ void who(int* warp, int* lane, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    const int block = blockIdx.y * gridDim.x + blockIdx.x;
    const int t = threadIdx.y * blockDim.x + threadIdx.x;
    warp[row * W + column] = 2 * block + t / 32;  // a block of 64 threads has two
    lane[row * W + column] = t % 32;
}
