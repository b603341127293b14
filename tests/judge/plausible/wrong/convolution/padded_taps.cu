// fault: rows of the filter are padded to a multiple of 4 taps with weights of 0, which meet pixels that are not in the window: 0 * Inf is NaN
// kinds: wrong_result
// grid: ceil(W/32) ceil(H/8) P
// block: 32 8
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    __shared__ float filter[15][16];
    const int taps = 2 * R + 1, padded = (taps + 3) / 4 * 4;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < taps * padded; i += 256)
        filter[i / padded][i % padded] = i % padded < taps ? weights[i / padded * taps + i % padded] : 0.0f;
    __syncthreads();
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    const size_t plane = (size_t)blockIdx.z * H * W;
    float sum = 0;
    for (int r = 0; r < taps; r++) {
        const int v = y + r - R;
        if (v < 0 || v >= H) continue;
        for (int c = 0; c < padded; c += 4)
            for (int j = 0; j < 4; j++) {
                const int u = x + c + j - R;
                if (u >= 0 && u < W) sum += filter[r][c + j] * image[plane + (size_t)v * W + u];
            }
    }
    filtered[plane + (size_t)y * W + x] = sum;
}
