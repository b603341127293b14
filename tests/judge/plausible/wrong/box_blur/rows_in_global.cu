// grid: H
// block: 128
// fault: race
// kinds: race wrong_result unrepeatable uninitialised_read
// Each block leaves its row's horizontal sums in the output and then adds up five rows there: the neighbours' may not be ready.
__global__ void blur_in_place(const float* image, float* blurred, int H, int W)
{
    int y = blockIdx.x;
    for (int x = threadIdx.x; x < W; x += 128) {
        float s = 0;
        for (int c = max(x - 2, 0); c <= min(x + 2, W - 1); ++c) s += image[(size_t)y * W + c];
        blurred[(size_t)y * W + x] = s;
    }
    __threadfence();
    __syncthreads();
    for (int x = threadIdx.x; x < W; x += 128) {
        float s = 0;
        int n = 0;
        for (int r = max(y - 2, 0); r <= min(y + 2, H - 1); ++r, ++n) s += blurred[(size_t)r * W + x];
        blurred[(size_t)y * W + x] = s / (n * (min(x + 2, W - 1) - max(x - 2, 0) + 1));
    }
}
