// grid: SMS*4
// block: 256
// fault: index type
// kinds: wrong_result race
// The running index is a float: above 2^24 elements odd ones round to their neighbours.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const float step = gridDim.x * blockDim.x;
    for (float at = blockIdx.x * blockDim.x + threadIdx.x; at < n; at += step) {
        const int i = (int)at;
        y[i] += a * x[i];
    }
}
