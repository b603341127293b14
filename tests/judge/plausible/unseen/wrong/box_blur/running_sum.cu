// grid: ceil(W/64) 1
// block: 64
// fault: running sum
// kinds: wrong_result
// Down a column the window gains a row and loses one: a huge number that has left takes the small ones with it,
// and a NaN or Inf never leaves.
__global__ void box_blur(const float* image, float* blurred, int H, int W)
{
    int x = blockIdx.x * 64 + threadIdx.x;
    if (x >= W) return;
    int lo = max(0, x - 2), hi = min(W - 1, x + 2);
    auto row = [&](int y) { float s = 0; for (int c = lo; c <= hi; ++c) s += image[(size_t)y * W + c]; return s; };
    float sum = 0;
    for (int y = 0; y < min(2, H); ++y) sum += row(y);
    for (int y = 0; y < H; ++y) {
        if (y + 2 < H) sum += row(y + 2);
        if (y - 3 >= 0) sum -= row(y - 3);
        blurred[(size_t)y * W + x] = sum / ((min(H - 1, y + 2) - max(0, y - 2) + 1) * (hi - lo + 1));
    }
}
