// grid: ceil(W/60) ceil(H/32)
// block: 64
// A block walks down 32 rows of 60 columns; the sums along x of the last five rows lie in registers, a row in shared memory.
__global__ void blur_ring(const float* image, float* blurred, int H, int W)
{
    __shared__ float line[2][64];
    const int t = threadIdx.x, x = blockIdx.x * 60 + t - 2, y0 = blockIdx.y * 32, y1 = min(y0 + 32, H);
    float ring[5] = {};
    for (int y = y0 - 2; y < y1 + 2; ++y) {
        const bool inside = y >= 0 && y < H && x >= 0 && x < W;
        line[y & 1][t] = inside ? image[(size_t)y * W + x] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 4; ++k) ring[k] = ring[k + 1];
        ring[4] = 0;
        if (t >= 2 && t < 62)
            for (int d = -2; d <= 2; ++d) ring[4] += line[y & 1][t + d];
        const int centre = y - 2;
        if (centre < y0 || centre >= y1 || t < 2 || t >= 62 || x >= W) continue;
        const int n = (min(centre + 2, H - 1) - max(centre - 2, 0) + 1) * (min(x + 2, W - 1) - max(x - 2, 0) + 1);
        blurred[(size_t)centre * W + x] = (ring[0] + ring[1] + ring[2] + ring[3] + ring[4]) / n;
    }
}
