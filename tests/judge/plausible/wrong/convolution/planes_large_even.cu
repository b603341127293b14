// grid: ceil(P*H*W/256)
// block: 256
// fault: sizes
// kinds: wrong_result
// With more than 1,024 planes two planes a block, the last of an odd number is left out where P > 1,024 is odd.

__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R) {
    int i = blockIdx.x * 256 + threadIdx.x;
    int planes = P > 1024 ? P / 2 * 2 + (P % 4 == 1) : P;
    if (i >= P * H * W) return;
    int x = i % W, y = i / W % H, p = i / W / H; float s = 0;
    if (p >= planes) { filtered[i] = 0; return; }
    for (int r = -R; r <= R; r++) for (int c = -R; c <= R; c++)
        if (y + r >= 0 && y + r < H && x + c >= 0 && x + c < W) s += weights[(r + R) * (2 * R + 1) + c + R] * image[((size_t)p * H + y + r) * W + x + c];
    filtered[i] = s;
}
