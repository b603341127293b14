// grid: ceil(n/256)
// block: 256
// fault: race
// kinds: race
// Lanes read from shared memory what other lanes of the warp have just written, with no __syncwarp between: a race, wherever two lanes of a warp have elements (n >= 2).

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    __shared__ float staged[256];
    const int lane = threadIdx.x & 31, base = blockIdx.x * 256 + (threadIdx.x & ~31);
    float* mine = staged + (threadIdx.x & ~31);
    if (base + lane < n) mine[lane] = a * x[base + lane];
    // back to front, so that the warp touches other banks
    const int other = 31 - lane;
    if (base + other < n) y[base + other] += mine[other];
}
