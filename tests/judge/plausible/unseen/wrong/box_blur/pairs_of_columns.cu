// grid: ceil(W/64) ceil(H/4)
// block: 32 4
// fault: alignment
// kinds: misaligned out_of_bounds race
// Two pixels are written by one store of 8 bytes: misaligned on every second row of an odd width, and one past it at its end.

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int x = 2 * (blockIdx.x * 32 + threadIdx.x), y = blockIdx.y * 4 + threadIdx.y;
    if (x >= W || y >= H) return;
    float mean[2];
    for (int k = 0; k < 2; ++k) {
        float sum = 0.0f;
        int count = 0;
        for (int v = max(y - 2, 0); v <= min(y + 2, H - 1); ++v)
            for (int u = max(x + k - 2, 0); u <= min(x + k + 2, W - 1); ++u) sum += image[(size_t)v * W + u], ++count;
        mean[k] = sum / count;
    }
    *reinterpret_cast<float2*>(blurred + (size_t)y * W + x) = make_float2(mean[0], mean[1]);
}
