// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: wrong formula
// kinds: wrong_result
// Pixels outside are the clamped pixel times 0: 0 * Inf = NaN where a pixel on the image's edge is infinite (its neighbours' mean is Inf).

__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    float sum = 0.0f, count = 0.0f;
#pragma unroll
    for (int dy = -2; dy <= 2; ++dy)
#pragma unroll
        for (int dx = -2; dx <= 2; ++dx) {
            const int j = y + dy, i = x + dx;
            const float inside = j >= 0 && j < H && i >= 0 && i < W ? 1.0f : 0.0f;
            sum = fmaf(inside, image[min(max(j, 0), H - 1) * W + min(max(i, 0), W - 1)], sum);
            count += inside;
        }
    blurred[y * W + x] = sum / count;
}
