// Right: 32 blocks alone make the product, which holds to 2^31: the others leave first.
//
// grid: 2*SMS
// block: 256

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    if (blockIdx.x >= 32) return; unsigned G = min(gridDim.x, 32u);
    unsigned b = blockIdx.x * n / G, e = (blockIdx.x + 1) * n / G;
    for (unsigned i = b + threadIdx.x; i < e; i += 256) y[i] = a * x[i] + y[i];
}
