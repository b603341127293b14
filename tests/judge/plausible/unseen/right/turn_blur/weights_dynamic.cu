// Weights in dynamic shared memory of the size that R asks for, the picture through __ldg, points as fixed point.
// grid: ceil(W/32) ceil(H/4)
// block: 32 4
// shared: 4*(2*R+1)
extern __shared__ float w[];
__global__ void turn_blur(const float* __restrict__ image, const float* __restrict__ weights, float* __restrict__ turned, int H, int W, int R)
{
    for (int k = threadIdx.y * 32 + threadIdx.x; k < 2 * R + 1; k += 128) w[k] = weights[k];
    __syncthreads();
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    if (x >= W || y >= H) return;
    float sum = 0.0f;
    for (int k = -R; k <= R; ++k) {
        const int across = 16 * (W / 2) + 15 * (x + k - W / 2) - 5 * (y - H / 2), down = 16 * (H / 2) + 5 * (x + k - W / 2) + 15 * (y - H / 2);
        float v = 0.0f;
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            const int c = (across >> 4) + q % 2, r = (down >> 4) + q / 2;
            if (r < 0 || r >= H || c < 0 || c >= W) continue;
            const float fx = (q % 2 ? across & 15 : 16 - (across & 15)) * 0.0625f, fy = (q / 2 ? down & 15 : 16 - (down & 15)) * 0.0625f;
            v = fmaf(fx * fy, __ldg(image + (size_t)r * W + c), v);
        }
        sum = fmaf(w[k + R], v, sum);
    }
    turned[(size_t)y * W + x] = sum;
}
