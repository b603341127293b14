// grid: ceil(W/32) ceil(H/4) P
// block: 32 4
// fault: one load per thread
// kinds: uninitialised_read
// Each of 128 threads brings one weight: a filter of 13 by 13 or 15 by 15 has more.
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    __shared__ float w[225];
    int t = threadIdx.y * 32 + threadIdx.x, side = 2 * R + 1;
    if (t < side * side) w[t] = weights[t];
    __syncthreads();
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    if (x >= W || y >= H) return;
    const float* plane = image + (size_t)blockIdx.z * H * W;
    float sum = 0;
    for (int r = 0; r < side; ++r)
        for (int c = 0; c < side; ++c) {
            int yy = y + r - R, xx = x + c - R;
            float v = yy >= 0 && yy < H && xx >= 0 && xx < W ? plane[yy * W + xx] : 0;
            sum += w[r * side + c] * v;
        }
    filtered[((size_t)blockIdx.z * H + y) * W + x] = sum;
}
