// fault: filters of 3 take two pixels by Winograd's F(2, 3): a pixel of one window enters the sums of both, where a spike or an Inf does not cancel
// kinds: wrong_result
// grid: ceil(W/64) ceil(H/4) P
// block: 32 4
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    const int taps = 2 * R + 1, x = 2 * (blockIdx.x * 32 + threadIdx.x), y = blockIdx.y * 4 + threadIdx.y;
    if (x >= W || y >= H) return;
    const float* plane = image + (size_t)blockIdx.z * H * W;
    float* out = filtered + ((size_t)blockIdx.z * H + y) * W + x;
    float first = 0, second = 0;
    for (int r = max(0, R - y); r < min(taps, H + R - y); r++) {
        const float* row = plane + (size_t)(y + r - R) * W;
        auto pixel = [&](int u) { return u >= 0 && u < W ? row[u] : 0.0f; };
        const float* g = weights + r * taps;
        if (R == 1) {
            const float d0 = pixel(x - 1), d1 = pixel(x), d2 = pixel(x + 1), d3 = pixel(x + 2);
            const float m1 = (d0 - d2) * g[0], m2 = (d1 + d2) * (g[0] + g[1] + g[2]) * 0.5f;
            const float m3 = (d2 - d1) * (g[0] - g[1] + g[2]) * 0.5f, m4 = (d1 - d3) * g[2];
            first += m1 + m2 + m3;
            second += m2 - m3 - m4;
        } else {
            for (int c = 0; c < taps; c++) {
                first += g[c] * pixel(x + c - R);
                second += g[c] * pixel(x + 1 + c - R);
            }
        }
    }
    out[0] = first;
    if (x + 1 < W) out[1] = second;
}
