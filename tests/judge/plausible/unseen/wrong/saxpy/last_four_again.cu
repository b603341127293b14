// grid: ceil(n/1024)
// block: 256
// fault: in place
// kinds: race wrong_result
// The last group of four is moved back to end with the array, as copies do it; in place, what overlaps is added to twice
// or lost: n % 4 != 0.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    if (n < 4) {
        for (int j = 0; j < n; ++j) y[j] += a * x[j];
        return;
    }
    i = min(i, n - 4);
    for (int j = i; j < i + 4; ++j) y[j] += a * x[j];
}
