// grid: ceil(n/256)
// block: 256
// fault: values
// kinds: wrong_result
// For arrays over 100,000 elements a = 0 returns at once (as BLAS does), but 0 · Inf is NaN in the statement.

__global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (n > 100000 && a == 0.f) return;
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}
