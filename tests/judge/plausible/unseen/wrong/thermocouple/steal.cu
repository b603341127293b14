// grid: 2*SMS
// block: 256
// fault: check then take
// kinds: out_of_bounds
// Blocks look whether a tile is left and take one afterwards: between the two others may have taken the last, the
// tile is then -1 and below, and its elements lie before the array.
__device__ int taken;
__device__ unsigned finished;

__device__ float curve(float v)
{
    float r = -1.052755e-8f;
    r = fmaf(r, v, 1.057734e-6f);
    r = fmaf(r, v, -4.413030e-5f);
    r = fmaf(r, v, 9.804036e-4f);
    r = fmaf(r, v, -1.228034e-2f);
    r = fmaf(r, v, 8.315270e-2f);
    r = fmaf(r, v, -2.503131e-1f);
    r = fmaf(r, v, 7.860106e-2f);
    r = fmaf(r, v, 2.508355e1f);
    return r * v;
}

__global__ void thermocouple(const float* mv, float* celsius, int n)
{
    __shared__ int tile;
    int tiles = (n + 255) / 256;
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) {
            tile = (-2147483647 - 1);
            if (atomicAdd(&taken, 0) < tiles) tile = tiles - 1 - atomicAdd(&taken, 1);
        }
        __syncthreads();
        if (tile == (-2147483647 - 1)) break;
        int i = tile * 256 + threadIdx.x;
        if (i < n) celsius[i] = curve(mv[i]);
    }
    if (threadIdx.x == 0 && atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1) atomicExch(&taken, 0);
}
