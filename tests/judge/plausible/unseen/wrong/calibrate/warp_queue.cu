// grid: ceil(n/1024)
// block: 128
// fault: check then take in shared memory
// kinds: out_of_bounds
// Warps look whether a piece is left and take one afterwards; between the two another warp may have taken the last,
// and the piece is then -1: what lies before the block's part is read as if it were of it, the array's first too.
__device__ float curve(int channel, float v)
{
    if (channel == 0) {
        float s = 1;
        for (int k = 10; k > 0; --k) s = 1 + v * s / k;
        return s;
    }
    if (channel == 1) {
        for (int k = 0; k < 6; ++k) v = v * (1.5f - 0.5f * v * v);
        return v;
    }
    if (channel == 2) {
        for (int k = 0; k < 8; ++k) v = v + 0.125f * v * v;
        return v;
    }
    float w = 1 + v * v, u = 0.85f;
    for (int k = 0; k < 4; ++k) u = u * (1.5f - 0.5f * w * u * u);
    return w * u;
}
__global__ void calibrate(const float* x, float* y, int n)
{
    __shared__ int left;
    if (threadIdx.x == 0) left = 32;
    __syncthreads();
    int lane = threadIdx.x % 32;
    while (true) {
        int piece = 0;
        if (lane == 0) piece = atomicAdd(&left, 0) > 0 ? atomicSub(&left, 1) - 1 : -100;
        piece = __shfl_sync(~0u, piece, 0);
        if (piece == -100) break;
        int i = blockIdx.x * 1024 + piece * 32 + lane;
        if (i < n) y[i] = curve(i & 3, x[i]);
    }
}
