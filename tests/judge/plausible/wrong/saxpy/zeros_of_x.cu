// grid: ceil(n/256)
// block: 256
// fault: NaN and infinity
// kinds: wrong_result
// Saves the multiplication where x is 0: an infinite or NaN a times 0 must give NaN.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] != 0.0f) y[i] += a * x[i];
}
