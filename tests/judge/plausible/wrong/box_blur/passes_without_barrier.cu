// grid: ceil(W/32) ceil(H/32)
// block: 32 8
// fault: missing barrier
// kinds: race wrong_result unrepeatable
// Rows first, then columns, strip by strip of 8 rows: nothing keeps a quick warp from the next strip. Right for H <= 8.
__global__ void separable(const float* image, float* blurred, int H, int W)
{
    __shared__ float rows[12][32];
    int tx = threadIdx.x, x = blockIdx.x * 32 + tx;
    for (int y0 = blockIdx.y * 32; y0 < min(H, (int)blockIdx.y * 32 + 32); y0 += 8) {
        for (int k = threadIdx.y; k < 12; k += 8) {
            int y = y0 + k - 2;
            float s = 0;
            if (y >= 0 && y < H)
                for (int c = max(x - 2, 0); c <= min(x + 2, W - 1); ++c) s += image[(size_t)y * W + c];
            rows[k][tx] = s;
        }
        __syncthreads();
        int y = y0 + threadIdx.y;
        if (x >= W || y >= H) continue;
        float s = 0;
        for (int k = 0; k < 5; ++k) s += rows[threadIdx.y + k][tx];
        int n = (min(x + 2, W - 1) - max(x - 2, 0) + 1) * (min(y + 2, H - 1) - max(y - 2, 0) + 1);
        blurred[(size_t)y * W + x] = s / n;
    }
}
