// grid: n//1024
// block: 256
// fault: grid rounded down
// kinds: launch
// n/1024 blocks leave out what is behind the last whole 1024, and the tail of n % 4 alone is done.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    bool whole = (((size_t)x | (size_t)y) & 15) == 0;
    for (int k = 0; k < 4; ++k) {
        int e = whole ? i * 4 + k : k * gridDim.x * 256 + i;
        if (e < n) y[e] = a * x[e] + y[e];
    }
    if (i < n % 4) y[n - 1 - i] = a * x[n - 1 - i] + y[n - 1 - i];
}
