// fault: a block takes every third plane, and begins to load the next one while slower warps still read this one
// kinds: race
// grid: ceil(W/32) ceil(H/8) 3
// block: 32 8
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    __shared__ float tile[8 + 14][32 + 14];
    const int taps = 2 * R + 1, x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    for (int p = blockIdx.z; p < P; p += 3) {
        const size_t plane = (size_t)p * H * W;
        for (int r = threadIdx.y; r < 8 + 2 * R; r += 8)
            for (int c = threadIdx.x; c < 32 + 2 * R; c += 32) {
                const int v = (int)blockIdx.y * 8 - R + r, u = (int)blockIdx.x * 32 - R + c;
                tile[r][c] = v >= 0 && v < H && u >= 0 && u < W ? image[plane + (size_t)v * W + u] : 0.0f;
            }
        __syncthreads();
        if (x < W && y < H) {
            float sum = 0;
            for (int r = 0; r < taps; r++)
                for (int c = 0; c < taps; c++) sum += weights[r * taps + c] * tile[threadIdx.y + r][threadIdx.x + c];
            filtered[plane + (size_t)y * W + x] = sum;
        }
    }
}
