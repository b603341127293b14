// fault: a thread of an 8 by 8 tile loads at most two columns and two rows of it with its halo: enough up to R = 4
// kinds: uninitialised_read
// grid: ceil(W/8) ceil(H/8) P
// block: 8 8
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    __shared__ float tile[22][22];
    const int taps = 2 * R + 1, pitch = 8 + 2 * R, tx = threadIdx.x, ty = threadIdx.y;
    const int x0 = blockIdx.x * 8 - R, y0 = blockIdx.y * 8 - R;
    const size_t plane = (size_t)blockIdx.z * H * W;
    for (int r = ty; r < ty + 16; r += 8)
        for (int c = tx; c < tx + 16; c += 8)
            if (r < pitch && c < pitch) {
                const int v = y0 + r, u = x0 + c;
                tile[r][c] = v >= 0 && v < H && u >= 0 && u < W ? image[plane + (size_t)v * W + u] : 0.0f;
            }
    __syncthreads();
    const int x = x0 + R + tx, y = y0 + R + ty;
    if (x >= W || y >= H) return;
    float sum = 0;
    for (int r = 0; r < taps; r++)
        for (int c = 0; c < taps; c++) sum += weights[r * taps + c] * tile[ty + r][tx + c];
    filtered[plane + (size_t)y * W + x] = sum;
}
