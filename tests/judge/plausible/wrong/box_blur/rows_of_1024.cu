// grid: H
// block: 256
// fault: fixed count
// kinds: out_of_bounds race uninitialised_read wrong_result
// Column sums of a row lie in a shared array of 1,024: a wider image runs over it.
__global__ void blur_rows(const float* image, float* blurred, int H, int W)
{
    __shared__ float column[1024];
    int y = blockIdx.x, top = max(y - 2, 0), bottom = min(y + 2, H - 1);
    for (int x = threadIdx.x; x < W; x += 256) {
        column[x] = 0;
        for (int r = top; r <= bottom; ++r) column[x] += image[(size_t)r * W + x];
    }
    __syncthreads();
    for (int x = threadIdx.x; x < W; x += 256) {
        int l = max(x - 2, 0), r = min(x + 2, W - 1);
        float s = 0;
        for (int k = l; k <= r; ++k) s += column[k];
        blurred[(size_t)y * W + x] = s / ((bottom - top + 1) * (r - l + 1));
    }
}
