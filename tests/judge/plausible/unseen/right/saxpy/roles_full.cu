// Right: blocks 0 to 15 cut the first half by products, of 264 blocks; the product is inside the branch.
//
// grid: 2*SMS
// block: 256

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    unsigned G = gridDim.x; if (G < 17) { for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < n; i += G * 256) y[i] = a * x[i] + y[i]; return; }
    if (blockIdx.x < 16) { unsigned b = blockIdx.x * n / 32, e = blockIdx.x == 15 ? n / 2 : (blockIdx.x + 1) * n / 32; for (unsigned i = b + threadIdx.x; i < e; i += 256) y[i] = a * x[i] + y[i]; }
    else for (unsigned i = n / 2 + (blockIdx.x - 16) * 256 + threadIdx.x; i < n; i += (G - 16) * 256) y[i] = a * x[i] + y[i];
}
