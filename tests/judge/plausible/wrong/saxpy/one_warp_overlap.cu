// grid: ceil(n/31)
// block: 32
// fault: race
// kinds: race wrong_result unrepeatable
// Blocks advance by 31 where a warp does 32 of them, so the last lane and the next block's first meet in one element.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * 31 + threadIdx.x;
    bool mine = threadIdx.x < 31 || i + 1 == n || (n % 32 != 0 && i < n);
    if (i < n && mine) y[i] += a * x[i];
}
