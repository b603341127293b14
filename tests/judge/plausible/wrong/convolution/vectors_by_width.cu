// fault: four pixels are stored at once where the width allows it, wherever the output begins
// kinds: misaligned
// grid: ceil(W/128) ceil(H/4) P
// block: 32 4
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    const int taps = 2 * R + 1, x = 4 * (blockIdx.x * 32 + threadIdx.x), y = blockIdx.y * 4 + threadIdx.y;
    if (x >= W || y >= H) return;
    const float* plane = image + (size_t)blockIdx.z * H * W;
    float* out = filtered + ((size_t)blockIdx.z * H + y) * W + x;
    float sum[4] = {};
    for (int r = max(0, R - y); r < min(taps, H + R - y); r++)
        for (int c = 0; c < taps; c++)
            for (int j = 0; j < 4; j++) {
                const int u = x + j + c - R;
                if (u >= 0 && u < W) sum[j] += weights[r * taps + c] * plane[(size_t)(y + r - R) * W + u];
            }
    if (W % 4 == 0) {
        *reinterpret_cast<float4*>(out) = make_float4(sum[0], sum[1], sum[2], sum[3]);
    } else {
        for (int j = 0; j < 4 && x + j < W; j++) out[j] = sum[j];
    }
}
