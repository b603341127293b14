// grid: ceil(H*W/128)
// block: 128
// fault: grid barrier
// kinds: deadlock timeout race launch
// Rows go to a device array, all blocks wait for each other by spinning, then columns: hangs when not all are on the chip.
__device__ float rows[1 << 26];
__device__ unsigned came, round_number;
__global__ void blur_two_phases(const float* image, float* blurred, int H, int W)
{
    int p = blockIdx.x * 128 + threadIdx.x, y = p / W, x = p % W, l = max(x - 2, 0), r = min(x + 2, W - 1);
    if (p < H * W) {
        float s = 0;
        for (int c = l; c <= r; ++c) s += image[y * W + c];
        rows[p] = s;
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned mine = *(volatile unsigned*)&round_number;
        __threadfence();
        if (atomicInc(&came, gridDim.x - 1) == gridDim.x - 1)
            atomicAdd(&round_number, 1);
        else
            while (*(volatile unsigned*)&round_number == mine) {}
        __threadfence();
    }
    __syncthreads();
    if (p >= H * W) return;
    float s = 0;
    int top = max(y - 2, 0), bottom = min(y + 2, H - 1);
    for (int q = top; q <= bottom; ++q) s += *(volatile float*)&rows[q * W + x];
    blurred[p] = s / ((bottom - top + 1) * (r - l + 1));
}
