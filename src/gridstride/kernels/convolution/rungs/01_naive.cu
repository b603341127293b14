// 01 naive: one thread reads the window of its pixel and the whole filter from global memory.
//
// Moves: nothing yet. Two loads for every multiply-add: a pixel, which neighbours read as well, and a weight, which all
//   threads read.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y of plane blockIdx.z. What lies
//   outside the plane is 0 and adds nothing, so it is left out.
//
// entry: convolution_naive
// block: 32 8
// grid: ceil(W/32) ceil(H/8) P

extern "C" __global__ void convolution_naive(const float* image, const float* weights, float* filtered,
                                             int P, int H, int W, int R)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    const size_t plane = (size_t)blockIdx.z * H * W;
    const int taps = 2 * R + 1;  // on a side of the filter
    float sum = 0.0f;
    for (int r = 0; r < taps; ++r) {
        for (int c = 0; c < taps; ++c) {
            const int y = row + r - R, x = column + c - R;
            if (y < 0 || y >= H || x < 0 || x >= W) continue;
            sum += weights[r * taps + c] * image[plane + (size_t)y * W + x];
        }
    }
    filtered[plane + (size_t)row * W + column] = sum;
}
