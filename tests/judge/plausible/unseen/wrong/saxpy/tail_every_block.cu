// grid: ceil(n/1024)
// block: 256
// fault: tail, race
// kinds: race
// The tail behind whole vectors is done by thread 0 of every block, so y of the tail gets a x several times.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const int vectors = n / 4;
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < vectors) {
#pragma unroll
        for (int k = 0; k < 4; ++k) y[4 * t + k] = a * x[4 * t + k] + y[4 * t + k];
    }
    if (threadIdx.x == 0) {
        for (int i = vectors * 4; i < n; ++i) y[i] = a * x[i] + y[i];
    }
}
