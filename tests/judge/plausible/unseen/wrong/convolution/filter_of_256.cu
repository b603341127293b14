// The filter lies in shared memory, 256 places, "15 x 15 is the largest anybody uses".
// Wrong for R = 8: 17 x 17 = 289 weights, written beyond the array.
// grid: ceil(W/32) ceil(H/8) P
// block: 32 8
// fault: filter of 256
// kinds: out_of_bounds
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    __shared__ float filter[256];
    const int taps = 2 * R + 1;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < taps * taps; i += 256) filter[i] = weights[i];
    __syncthreads();
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (column >= W || row >= H) return;
    const float* plane = image + (size_t)blockIdx.z * H * W;
    float sum = 0.0f;
    for (int r = 0; r < taps; ++r)
        for (int c = 0; c < taps; ++c) {
            const int y = row + r - R, x = column + c - R;
            if (y >= 0 && y < H && x >= 0 && x < W) sum += filter[r * taps + c] * plane[(size_t)y * W + x];
        }
    filtered[((size_t)blockIdx.z * H + row) * W + column] = sum;
}
