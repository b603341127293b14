// fault: taps whose weight is 0 are left out, as they add nothing; but 0 times Inf is NaN
// kinds: wrong_result
// grid: ceil(W/32) ceil(H/8) P
// block: 32 8
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    const int taps = 2 * R + 1, x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    const float* plane = image + (size_t)blockIdx.z * H * W;
    float sum = 0;
    for (int i = 0; i < taps * taps; i++) {
        const float weight = weights[i];
        if (weight == 0.0f) continue;
        const int v = y + i / taps - R, u = x + i % taps - R;
        if (v >= 0 && v < H && u >= 0 && u < W) sum += weight * plane[(size_t)v * W + u];
    }
    filtered[((size_t)blockIdx.z * H + y) * W + x] = sum;
}
