// grid: 16384
// block: 256
// fault: fixed grid, timed size
// kinds: wrong_result
// 16,384 blocks of 256 cover 4,194,304 elements and there is no loop: at the timed n of 67,108,864 fifteen
// sixteenths of y stay as they were.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}
