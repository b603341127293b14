// One kernel with the radius as a template parameter for 1 to 3, chosen by a switch, and a general path behind it.
// grid: ceil(W/32) ceil(H/4) min(P, 65535)
// block: 32 4
template <int RADIUS> __device__ float at(const float* plane, const float* w, int y, int x, int H, int W, int R)
{
    const int r = RADIUS ? RADIUS : R, taps = 2 * r + 1;
    float sum = 0.0f;
#pragma unroll (RADIUS ? 2 * RADIUS + 1 : 1)
    for (int i = 0; i < taps; ++i) {
        const int yy = y + i - r;
        if (yy < 0 || yy >= H) continue;
        for (int j = 0; j < taps; ++j) {
            const int xx = x + j - r;
            if (xx >= 0 && xx < W) sum = fmaf(__ldg(w + i * taps + j), plane[(size_t)yy * W + xx], sum);
        }
    }
    return sum;
}
extern "C" __global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    if (x >= W || y >= H) return;
    for (int p = blockIdx.z; p < P; p += gridDim.z) {
        const float* plane = image + (size_t)p * H * W;
        float v;
        switch (R) {
            case 1: v = at<1>(plane, weights, y, x, H, W, R); break;
            case 2: v = at<2>(plane, weights, y, x, H, W, R); break;
            case 3: v = at<3>(plane, weights, y, x, H, W, R); break;
            default: v = at<0>(plane, weights, y, x, H, W, R);
        }
        filtered[((size_t)p * H + y) * W + x] = v;
    }
}
