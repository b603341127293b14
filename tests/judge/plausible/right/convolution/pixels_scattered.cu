// grid: ceil(W/32) ceil(H/8) P
// block: 32 8
// The other way round: each pixel of the tile and its halo is added to the results it is part of, in shared memory, one
// tap at a time for the whole block, so that no two threads add to one result at once.
__global__ void convolution(const float* image, const float* weights, float* filtered, int P, int H, int W, int R)
{
    __shared__ float results[8][32];
    const int taps = 2 * R + 1, tx = threadIdx.x, ty = threadIdx.y;
    const size_t plane = (size_t)blockIdx.z * H * W;
    results[ty][tx] = 0.0f;
    for (int tap = 0; tap < taps * taps; tap++) {
        __syncthreads();
        const int r = tap / taps, c = tap % taps;
        const int oy = (ty + r) % 8, ox = (tx + c) % 32;  // who this thread adds to in this round
        const int v = (int)blockIdx.y * 8 + oy + r - R, u = (int)blockIdx.x * 32 + ox + c - R;
        if (v >= 0 && v < H && u >= 0 && u < W) results[oy][ox] += weights[tap] * image[plane + (size_t)v * W + u];
    }
    __syncthreads();
    const int x = blockIdx.x * 32 + tx, y = blockIdx.y * 8 + ty;
    if (x < W && y < H) filtered[plane + (size_t)y * W + x] = results[ty][tx];
}
