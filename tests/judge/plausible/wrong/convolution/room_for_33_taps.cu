// fault: the filter has room for 33 by 33 weights: with R = 17 the rest is the last one again
// kinds: wrong_result
// grid: ceil(W/16) ceil(H/16) P
// block: 16 16
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    __shared__ float filter[33 * 33];
    const int taps = 2 * R + 1, x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (int i = threadIdx.y * 16 + threadIdx.x; i < min(taps * taps, 33 * 33); i += 256) filter[i] = weights[i];
    __syncthreads();
    if (x >= W || y >= H) return;
    const float* plane = image + (size_t)blockIdx.z * H * W;
    float sum = 0;
    for (int r = 0; r < taps; ++r)
        for (int c = 0; c < taps; ++c) {
            const int row = y + r - R, column = x + c - R;
            if (row < 0 || row >= H || column < 0 || column >= W) continue;
            sum += plane[(size_t)row * W + column] * filter[min(r * taps + c, 33 * 33 - 1)];
        }
    filtered[((size_t)blockIdx.z * H + y) * W + x] = sum;
}
