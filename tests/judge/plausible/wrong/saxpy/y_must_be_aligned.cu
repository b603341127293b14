// grid: ceil(n/512)
// block: 256
// fault: alignment
// kinds: misaligned
// y is read and written as float2, x by scalars: a y that begins at an odd float is misaligned.
__global__ void saxpy2(int n, float a, const float* x, float* y)
{
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 1 < n) {
        float2 v = *reinterpret_cast<float2*>(&y[i]);
        v.x = a * x[i] + v.x;
        v.y = a * x[i + 1] + v.y;
        *reinterpret_cast<float2*>(&y[i]) = v;
    } else if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}
