// Sliding rows in a ring of registers, a struct with operators for sum and count.
// grid: ceil(W/64) ceil(H/16)
// block: 64
struct Mean {
    float sum; int count;
    __device__ Mean operator+(const Mean& o) const { return {sum + o.sum, count + o.count}; }
    __device__ operator float() const { return sum / count; }
};
__device__ Mean row_of(const float* image, int r, int c, int H, int W)
{
    Mean m{0.0f, 0};
    if (r < 0 || r >= H) return m;
    for (int k = max(0, c - 2); k <= min(W - 1, c + 2); ++k) m = m + Mean{image[(size_t)r * W + k], 1};
    return m;
}
__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    const int c = blockIdx.x * 64 + threadIdx.x, r0 = blockIdx.y * 16;
    if (c >= W) return;
    Mean ring[5];
#pragma unroll
    for (int k = 0; k < 4; ++k) ring[k + 1] = row_of(image, r0 - 2 + k, c, H, W);
    for (int r = r0; r < min(H, r0 + 16); ++r) {
#pragma unroll
        for (int k = 0; k < 4; ++k) ring[k] = ring[k + 1];
        ring[4] = row_of(image, r + 2, c, H, W);
        blurred[(size_t)r * W + c] = ring[0] + ring[1] + ring[2] + ring[3] + ring[4];
    }
}
