// entry: curve
// block: 256
// grid: ceil(n/256)

__constant__ float points[32];

extern "C" __global__ void curve(float* y, int n, int different)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = points[threadIdx.x % different];
}
