// grid: 4*SMS
// block: 256
// fault: product of 32 bits
// kinds: wrong_result out_of_bounds
// Pieces of H * W pixels: blockIdx.x * H * W / gridDim.x wraps in 32 bits at the timed size (2^26 pixels, from block 32 on with int).

__global__ void box_blur(const float* im, float* out, int H, int W)
{
    int b = (int)blockIdx.x * H * W / (int)gridDim.x, e = ((int)blockIdx.x + 1) * H * W / (int)gridDim.x;
    for (int i = b + threadIdx.x; i < e; i += 256) {
        int y = i / W, x = i % W; float a = 0; int n = 0;
        for (int Y = max(y - 2, 0); Y <= min(y + 2, H - 1); Y++) for (int X = max(x - 2, 0); X <= min(x + 2, W - 1); X++) { a += im[(size_t)Y * W + X]; n++; }
        out[i] = a / n;
    }
}
