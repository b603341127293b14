// fault: the filter's shared array has room for 11 by 11 weights; from R = 6 on they reach beyond it
// kinds: out_of_bounds
// grid: ceil(W/32) ceil(H/8) P
// block: 32 8
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    __shared__ float filter[121];
    const int taps = 2 * R + 1, x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < taps * taps; i += 256) filter[i] = weights[i];
    __syncthreads();
    if (x >= W || y >= H) return;
    const float* plane = image + (size_t)blockIdx.z * H * W;
    float sum = 0;
    for (int r = max(0, R - y); r < min(taps, H + R - y); r++)
        for (int c = max(0, R - x); c < min(taps, W + R - x); c++)
            sum += filter[r * taps + c] * plane[(size_t)(y + r - R) * W + x + c - R];
    filtered[((size_t)blockIdx.z * H + y) * W + x] = sum;
}
