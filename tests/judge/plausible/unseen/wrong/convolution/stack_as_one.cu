// grid: ceil(W/32) ceil(P*H/8)
// block: 32 8
// fault: edge handling
// kinds: wrong_result
// The stack is taken for one picture of P H rows: at the top and bottom of a plane the neighbour plane comes in
// instead of 0.
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    const int x = blockIdx.x * 32 + threadIdx.x, rows = P * H, D = 2 * R + 1;
    const int y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= rows) return;
    float sum = 0;
    for (int j = 0; j < D; ++j) {
        const int yy = y + j - R;
        if (yy < 0 || yy >= rows) continue;
        for (int i = 0; i < D; ++i) {
            const int xx = x + i - R;
            if (xx >= 0 && xx < W) sum += weights[j * D + i] * image[(size_t)yy * W + xx];
        }
    }
    filtered[(size_t)y * W + x] = sum;
}
