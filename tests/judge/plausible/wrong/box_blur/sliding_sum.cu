// grid: ceil(W/64)
// block: 64
// fault: NaN and infinity
// kinds: wrong_result
// A column's running sum: adds the row that comes in and takes off the one that leaves. After an infinity all below is NaN.
__global__ void blur(const float* image, float* blurred, int H, int W)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= W) return;
    int l = max(x - 2, 0), r = min(x + 2, W - 1);
    auto row = [&](int y) {
        float s = 0;
        for (int k = l; k <= r; ++k) s += image[(size_t)y * W + k];
        return s;
    };
    float sum = 0;
    for (int y = 0; y < min(2, H); ++y) sum += row(y);
    for (int y = 0; y < H; ++y) {
        if (y + 2 < H) sum += row(y + 2);
        if (y - 3 >= 0) sum -= row(y - 3);
        blurred[(size_t)y * W + x] = sum / ((min(y + 2, H - 1) - max(y - 2, 0) + 1) * (r - l + 1));
    }
}
