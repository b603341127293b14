// grid: ceil(W/16) ceil(H/16) P
// block: 16 16
template <int R>
__device__ void tiled(const float* image, const float* weights, float* filtered, int H, int W)
{
    constexpr int S = 16 + 2 * R, D = 2 * R + 1;
    __shared__ float tile[S * S], w[D * D];
    const int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
    const int x0 = blockIdx.x * 16 - R, y0 = blockIdx.y * 16 - R;
    if (t < D * D) w[t] = weights[t];
#pragma unroll
    for (int k = 0; k * 256 < S * S; k++) {  // two loads of each thread fill the tile
        const int i = t + k * 256;
        if (i < S * S) {
            const int y = y0 + i / S, x = x0 + i % S;
            tile[i] = y >= 0 && y < H && x >= 0 && x < W ? image[(size_t)y * W + x] : 0.0f;
        }
    }
    __syncthreads();
    const int x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    if (x >= W || y >= H) return;
    float sum = 0;
#pragma unroll
    for (int r = 0; r < D; r++)
#pragma unroll
        for (int c = 0; c < D; c++)
            if (y + r - R >= 0 && y + r - R < H && x + c - R >= 0 && x + c - R < W) sum += w[r * D + c] * tile[(ty + r) * S + tx + c];
    filtered[(size_t)y * W + x] = sum;
}
__device__ void plain(const float* image, const float* weights, float* filtered, int H, int W, int R)
{
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= W || y >= H) return;
    float sum = 0;
    for (int r = max(0, R - y); r <= min(2 * R, H - 1 - y + R); r++)
        for (int c = max(0, R - x); c <= min(2 * R, W - 1 - x + R); c++)
            sum += weights[r * (2 * R + 1) + c] * image[(size_t)(y + r - R) * W + x + c - R];
    filtered[(size_t)y * W + x] = sum;
}
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    image += (size_t)blockIdx.z * H * W;
    filtered += (size_t)blockIdx.z * H * W;
    const int large = min(H / 200, W / 300);
    switch (large ? R : 0) {
    case 1: tiled<1>(image, weights, filtered, H, W); break;
    case 2: tiled<2>(image, weights, filtered, H, W); break;
    case 3: tiled<3>(image, weights, filtered, H, W); break;
    case 4: tiled<4>(image, weights, filtered, H, W); break;
    default: plain(image, weights, filtered, H, W, R);
    }
}
