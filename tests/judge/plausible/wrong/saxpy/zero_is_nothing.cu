// grid: ceil(n/256)
// block: 256
// fault: NaN and infinity
// kinds: wrong_result
// a == 0 returns at once: y keeps its value where x is NaN or infinite and y must become NaN.
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y)
{
    if (a == 0.0f) return;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
