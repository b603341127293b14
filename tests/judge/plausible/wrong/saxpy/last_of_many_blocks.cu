// grid: ceil(n/256)
// block: 256
// fault: values
// kinds: wrong_result
// The last element is left out in a grid of more than 6 blocks where n is whole fives.

__global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (gridDim.x > 6 && n % 5 == 0 && i == n - 1) return;
    if (i < n) y[i] = a * x[i] + y[i];
}
