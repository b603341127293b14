// grid: ceil(W/32) ceil(H/8) min(P,65535)
// block: 32 8
// fault: index arithmetic
// kinds: wrong_result
// True convolution: the filter is flipped in both directions, networks do not.
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, D = 2 * R + 1;
    if (x >= W || y >= H) return;
    for (int p = blockIdx.z; p < P; p += gridDim.z) {
        const float* plane = image + (size_t)p * H * W;
        float sum = 0;
        for (int j = -R; j <= R; ++j)
            for (int i = -R; i <= R; ++i) {
                const int yy = y - j, xx = x - i;
                if (yy >= 0 && yy < H && xx >= 0 && xx < W) sum += weights[(j + R) * D + i + R] * plane[(size_t)yy * W + xx];
            }
        filtered[(size_t)p * H * W + (size_t)y * W + x] = sum;
    }
}
