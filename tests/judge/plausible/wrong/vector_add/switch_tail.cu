// grid: ceil(n/1024)
// block: 256
// fault: tail of 3
// kinds: wrong_result
// The tail is written out by hand, and the case of three elements left over does two: wrong where n % 4 == 3.
extern "C" __global__ void vadd(const float* a, const float* b, float* c, int n)
{
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 4 <= n) {
#pragma unroll
        for (int k = 0; k < 4; k++) c[i + k] = a[i + k] + b[i + k];
        return;
    }
    switch (n - i) {
    case 3:
    case 2: c[i + 1] = a[i + 1] + b[i + 1];
    case 1: c[i] = a[i] + b[i];
    default: break;
    }
}
