// grid: ceil(n/256)
// block: 256
// fault: race within a warp
// kinds: race uninitialised_read wrong_result
// y is put back through shared memory from the neighbouring lane, without __syncwarp() between: any n of eight or more.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    __shared__ float line[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t, j = i ^ 1;
    if (j < n) line[t] = a * x[j] + y[j];
    if (i < n - (n & 7)) {
        y[i] = line[t ^ 1];
    } else if (i == n - (n & 7)) {
        for (int k = i; k < n; ++k) y[k] = a * x[k] + y[k];
    }
}
