// fault: the plane's number is kept in a short: from the 32,768th on it is negative
// kinds: out_of_bounds
// grid: ceil(W/32) ceil(H/8) P
// block: 32 8
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    const short p = blockIdx.z;
    const int taps = 2 * R + 1, x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    const float* plane = image + (long long)p * H * W;
    float sum = 0;
    for (int r = max(0, R - y); r < min(taps, H + R - y); r++)
        for (int c = max(0, R - x); c < min(taps, W + R - x); c++)
            sum += weights[r * taps + c] * plane[(size_t)(y + r - R) * W + x + c - R];
    filtered[((long long)p * H + y) * W + x] = sum;
}
