// 02 shared filter: the block copies the filter to shared memory once.
//
// Moves: global requests per multiply-add, from 2 to 1. A weight is the same for all lanes, so that its read from
//   shared memory is a broadcast, without bank conflicts.
// Mapping: as in 01. Constant memory would serve as well, but only the host can fill it before the launch; here the
//   filter comes as an array.
//
// entry: convolution_shared_filter
// block: 32 8
// grid: ceil(W/32) ceil(H/8) P
// shared: 4*(2*R+1)*(2*R+1)

extern "C" __global__ void convolution_shared_filter(const float* __restrict__ image, const float* __restrict__ weights,
                                                     float* __restrict__ filtered, int P, int H, int W, int R)
{
    extern __shared__ float filter[];
    const int taps = 2 * R + 1;  // on a side of the filter
    const int t = threadIdx.y * blockDim.x + threadIdx.x;
    for (int i = t; i < taps * taps; i += blockDim.x * blockDim.y) filter[i] = weights[i];
    __syncthreads();

    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    const size_t plane = (size_t)blockIdx.z * H * W;
    float sum = 0.0f;
    for (int r = 0; r < taps; ++r) {
        for (int c = 0; c < taps; ++c) {
            const int y = row + r - R, x = column + c - R;
            if (y < 0 || y >= H || x < 0 || x >= W) continue;
            sum += filter[r * taps + c] * image[plane + (size_t)y * W + x];
        }
    }
    filtered[plane + (size_t)row * W + column] = sum;
}
