// grid: 1024
// block: 128
// fault: int overflow
// kinds: out_of_bounds
// n * blockIdx.x is beyond 2^31 for the last of 1024 blocks from n = 2,099,202 on.

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
    int blocks = gridDim.x, b = blockIdx.x;
    int begin = n * b / blocks, end = n * (b + 1) / blocks;
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x) celsius[i] = curve(mv[i]);
}
